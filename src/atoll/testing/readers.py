"""Does a reader keep its door's promises? One suite for every reader, ours or not.

Use it from any test runner::

    @pytest.mark.parametrize("check", READER_CHECKS, ids=lambda check: check.__name__)
    def test_my_reader(check): check(MyReader(), samples)

`samples` are blobs that the reader reads without error, each as its container would give it. Each check
raises AssertionError with what was wrong. Words: a *mutation* is a sample with a few bytes changed, taken
out or put in, seeded and so repeatable.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from atoll.artifact import Fact, Finding
from atoll.errors import UnreadableError
from atoll.packaging.combine import fault
from atoll.plugin import Blob, Member, Reader

ReaderCheck = Callable[[Reader, Sequence[Blob]], None]

HEAD = 4096
MUTATIONS = 300
EVENT_LIMIT = 100_000
SECONDS = 5.0


def it_has_a_name(reader: Reader, samples: Sequence[Blob]) -> None:
    """The name is an identifier, for reasons and for the entry point."""
    assert reader.name.isidentifier(), f"the name {reader.name!r} is no identifier"
    assert samples, "no sample was given, so nothing is checked"


def it_recognises_by_the_first_bytes(reader: Reader, samples: Sequence[Blob]) -> None:
    """A container shows it only the first 4096 bytes of a member; they must suffice."""
    for sample in samples:
        assert reader.recognises(sample), f"it does not recognise {sample.name}"
        head = replace(sample, data=sample.data[:HEAD])
        assert reader.recognises(head), f"it needs more than {HEAD} bytes to recognise {sample.name}"


def it_claims_no_noise(reader: Reader, samples: Sequence[Blob]) -> None:
    """Nothing, single bytes, text and noise are no file of its format, and never an error."""
    noise = random.Random(1).randbytes(5000)  # noqa: S311 - repeatable noise, no secret
    for data in (b"", b"\0", b"\x7f", b"PK", b"hello, world\n" * 100, noise, bytes(5000)):
        assert reader.recognises(Blob(name="noise", data=memoryview(data))) is False, "it claims noise"


def it_says_the_same_twice(reader: Reader, samples: Sequence[Blob]) -> None:
    """Reading has no memory: the same blob gives the same answer."""
    for sample in samples:
        assert _said(reader, sample) == _said(reader, sample), f"{sample.name} read twice differs"


def it_names_places_inside(reader: Reader, samples: Sequence[Blob]) -> None:
    """Members and findings lie in the blob by their name."""
    for sample in samples:
        for event in reader.read(sample):
            if isinstance(event, Member):
                assert event.blob.name.startswith(f"{sample.name}!"), f"{event.blob.name} is not inside"
            elif isinstance(event, Finding):
                assert event.member.startswith(sample.name), f"{event.member} is not inside"


def its_findings_can_enter_a_set(reader: Reader, samples: Sequence[Blob]) -> None:
    """A finding spells backend, arch and versions as a set can; or it says that it is unknown, and why."""
    for sample in samples:
        for event in reader.read(sample):
            if isinstance(event, Finding) and event.backend:
                assert fault(event) is None, fault(event)
            elif isinstance(event, Finding):
                assert event.note, "device code of an unknown form has no note that says which"


def broken_bytes_are_refused_in_time(reader: Reader, samples: Sequence[Blob]) -> None:
    """Mutations give an answer or UnreadableError with a diagnostic; never another error, never a hang."""
    for sample in samples:
        for number, data in enumerate(mutations(bytes(sample.data), MUTATIONS)):
            _survives(reader, replace(sample, data=memoryview(data)), f"mutation {number} of {sample.name}")


def cut_bytes_are_refused_in_time(reader: Reader, samples: Sequence[Blob]) -> None:
    """A file cut anywhere gives an answer or UnreadableError."""
    for sample in samples:
        size = len(sample.data)
        for at in sorted({*range(min(size, 200)), *range(0, size, max(1, size // 100))}):
            _survives(reader, replace(sample, data=sample.data[:at]), f"{sample.name} cut at {at}")


READER_CHECKS: tuple[ReaderCheck, ...] = (
    it_has_a_name,
    it_recognises_by_the_first_bytes,
    it_claims_no_noise,
    it_says_the_same_twice,
    it_names_places_inside,
    its_findings_can_enter_a_set,
    broken_bytes_are_refused_in_time,
    cut_bytes_are_refused_in_time,
)


def mutations(data: bytes, count: int, seed: int = 0) -> Iterator[bytes]:
    """Give `count` mutations of bytes: values changed, parts taken out, doubled or moved; repeatable."""
    chance = random.Random(seed)  # noqa: S311 - repeatable, no secret
    for _ in range(count):
        changed = bytearray(data)
        for _ in range(chance.choice((1, 1, 1, 2, 4, 16))):
            _change(changed, chance)
        yield bytes(changed)


def _change(data: bytearray, chance: random.Random) -> None:
    if not data:
        return
    at = chance.randrange(len(data))
    width = chance.choice((1, 2, 4, 8))
    match chance.randrange(6):
        case 0:
            data[at] = chance.randrange(256)
        case 1:
            data[at : at + width] = bytes(width)
        case 2:
            data[at : at + width] = b"\xff" * width
        case 3:
            number = chance.choice((0, 1, 7, 0x7FFFFFFF, 1 << 32, (1 << 63) - 1)) % (1 << 8 * width)
            data[at : at + width] = number.to_bytes(width, "little")
        case 4:
            del data[at : at + chance.randrange(1, 64)]
        case _:
            piece = data[at : at + chance.randrange(1, 64)]
            spot = chance.randrange(len(data))
            data[spot:spot] = piece


def _said(reader: Reader, sample: Blob) -> list[object]:
    said: list[object] = []
    for event in reader.read(sample):
        inner = event.blob if isinstance(event, Member) else None
        said.append((inner.name, inner.kind, bytes(inner.data)) if inner is not None else event)
    return said


def _survives(reader: Reader, sample: Blob, what: str) -> None:
    start = time.monotonic()
    try:
        if reader.recognises(sample):
            for count, event in enumerate(reader.read(sample)):
                assert isinstance(event, Member | Finding | Fact), f"{what}: it gave {event!r}"
                assert count < EVENT_LIMIT, f"{what}: over {EVENT_LIMIT} events"
    except UnreadableError as error:
        assert error.diagnostics[0].message, f"{what}: refused without a reason"
    except AssertionError:
        raise
    except Exception as error:
        raise AssertionError(f"{what}: {type(error).__name__}: {error}") from error
    spent = time.monotonic() - start
    assert spent < SECONDS, f"{what}: {spent:.1f} seconds"
