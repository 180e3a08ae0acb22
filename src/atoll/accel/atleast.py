"""How does a backend compare whose versions are *at least* relations?

Such a backend promises that what ran on one version runs on every later one, and its code comes in numbered
formats of which a device takes every one up to its own. Several formats in one entry are those of different
pieces of code, so that a device must take the highest. Lanes subclass :class:`AtLeastRules`.
"""

from __future__ import annotations

from collections.abc import Mapping

from atoll._util.values import dataclass, field, replace
from atoll.accel.relations import Relation, link_entries, not_above, run_entry
from atoll.accel.terms import DeviceFacts, Entry, Version
from atoll.errors import AccelError


@dataclass(frozen=True, slots=True, kw_only=True)
class AtLeastRules:
    """The rules of one backend; each version serves all that an earlier one served.

    Attributes:
        format: The prefix of its numbered code format, as in ``{format}1.6``.
        formats: For each version of the backend the highest format its devices must take.
    """

    format: str
    formats: Mapping[str, str] = field(default_factory=dict)
    floor_word: str | None = None

    def check(self, entry: Entry) -> tuple[str, str] | None:
        """Refuse an architecture that starts like the code format and is no version of it."""
        for arch in entry.archs:
            if arch.startswith(self.format) and self._format(arch) is None:
                return f"`{arch}` is no version of {self.format}", f"write `{self.format}1.0`"
        return None

    def links(self, have: Entry, asked: Entry) -> Relation:
        """Accept code that needs no later version and no later format than asked."""
        return link_entries(
            have, self._highest(asked), covers=self._covers, compatible=not_above, floors=self._floors
        )

    def runs(self, have: Entry, device: DeviceFacts) -> Relation:
        """Accept code that needs no later version and no later format than the device has."""
        least = have.version if have.floor is None else have.floor.value
        needs = Entry(backend=have.backend, version=least, archs=have.archs)
        seen = DeviceFacts(backend=device.backend, arch=self._device_format(device), version=device.version)
        return run_entry(needs, seen, covers=self._covers, compatible=not_above)

    def provides(self, target: Entry, arch: str) -> bool | None:
        """Read a requirement as a format (``{format}1.3``) or as a version of the backend."""
        wanted = self._format(arch)
        if wanted is not None:
            offered = self._format(target.archs[0]) if target.archs else self._format_of(target.version)
            return offered is not None and offered.at_least(wanted)
        least = _numbered(target.backend, arch)
        if least is None:
            return None
        return target.version is not None and target.version.at_least(least)

    def _covers(self, have: Entry, arch: str) -> bool:
        """Tell whether no format carried is above the asked one; any other word has to be carried itself."""
        wanted = self._format(arch)
        if not have.archs or wanted is None:
            return not have.archs or arch in have.archs
        carried = [number for each in have.archs if (number := self._format(each)) is not None]
        return bool(carried) and all(wanted.at_least(number) for number in carried)

    def _highest(self, asked: Entry) -> Entry:
        """Return what is asked with the highest of its formats alone: who reads that one reads them all."""
        formats = {arch: number for arch in asked.archs if (number := self._format(arch)) is not None}
        if len(formats) < 2:
            return asked
        highest = max(formats, key=lambda arch: formats[arch].parts)
        return replace(asked, archs=(*(arch for arch in asked.archs if arch not in formats), highest))

    def _floors(self, have: Entry, asked: Entry) -> bool:
        least = have.version if have.floor is None else have.floor.value
        return asked.floor is None or not_above(least, asked.floor.value)

    def _device_format(self, device: DeviceFacts) -> str:
        stated = device.facts.get(self.format) or device.facts.get(f"{self.format}.version")
        if stated:
            return f"{self.format}{stated}"
        derived = self._format_of(device.version)
        return device.arch if derived is None else f"{self.format}{derived}"

    def _format_of(self, version: Version | None) -> Version | None:
        if version is None:
            return None
        known = [(Version.parse(key), value) for key, value in self.formats.items()]
        served = [(key.parts, value) for key, value in known if version.at_least(key)]
        return Version.parse(max(served)[1]) if served else None

    def _format(self, arch: str) -> Version | None:
        return _numbered(self.format, arch)


def _numbered(prefix: str, text: str) -> Version | None:
    if not text.startswith(prefix):
        return None
    try:
        return Version.parse(text.removeprefix(prefix))
    except AccelError:
        return None
