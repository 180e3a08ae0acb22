"""What does the wheel say of itself? METADATA 2.4, from `packaging`, which also checks it."""

from __future__ import annotations

import re
from pathlib import Path

from atoll._util.values import dataclass, field
from atoll.diagnostics import Diagnostic
from atoll.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """The metadata of one package.

    Attributes:
        name / version / summary: As in the manifest.
        license: An SPDX expression, or empty.
        license_files: Name in the wheel and file of each licence text.
        python: The Python versions it supports, a specifier.
        requires: What must be installed with it (PEP 508).
        readme: Markdown, or empty.
        whole: The METADATA file, where the project states more than these; else empty.
        entry_points: The file ``entry_points.txt``, or empty.
    """

    name: str
    version: str
    summary: str = ""
    license: str = ""
    license_files: tuple[tuple[str, Path], ...] = ()
    python: str = ">=3.11"
    requires: tuple[str, ...] = ()
    readme: str = field(default="", repr=False)
    whole: bytes = field(default=b"", repr=False)
    entry_points: str = ""

    @property
    def stem(self) -> str:
        """The first two fields of the wheel's file name, which also name its ``dist-info``."""
        from packaging.utils import canonicalize_name, canonicalize_version

        name = re.sub(r"[-_.]+", "_", canonicalize_name(self.name))
        return f"{name}-{canonicalize_version(self.version, strip_trailing_zero=False)}"

    def text(self) -> bytes:
        """Return the METADATA file.

        Raises:
            UsageError: With every field that the standards refuse.
        """
        if self.whole:
            return self.whole
        from packaging.metadata import Metadata as Standard
        from packaging.metadata import RawMetadata

        raw: RawMetadata = {
            "metadata_version": "2.4",
            "name": self.name,
            "version": self.version,
            "requires_python": self.python,
        }
        if self.summary:
            raw["summary"] = self.summary
        if self.license:
            raw["license_expression"] = self.license
        if self.license_files:
            raw["license_files"] = [name for name, _ in self.license_files]
        if self.requires:
            raw["requires_dist"] = list(self.requires)
        if self.readme:
            raw["description"], raw["description_content_type"] = self.readme, "text/markdown"
        try:
            return _named_as_usual(Standard.from_raw(raw).as_rfc822().as_bytes())
        except ExceptionGroup as group:
            raise UsageError(
                Diagnostic(
                    code="ATL0465",
                    message=f"the metadata of `{self.name}` break the standards",
                    notes=tuple(str(error) for error in group.exceptions),
                    hint="mend them in the manifest",
                )
            ) from group


def _named_as_usual(text: bytes) -> bytes:
    """Return METADATA with its keys as every other tool writes them; `packaging` writes small letters."""
    head, blank, body = text.partition(b"\n\n")
    return re.sub(rb"^[a-z-]+(?=: )", lambda key: key[0].title(), head, flags=re.MULTILINE) + blank + body
