"""A shelf gives back what was put on it, by size, and takes no more than its bytes."""

from __future__ import annotations

from atoll.runtime.storage import Shelf, grain


def test_what_was_put_last_is_taken_first_and_only_by_its_size() -> None:
    shelf: Shelf[str] = Shelf(4096)
    assert shelf.put(256, "one")
    assert shelf.put(256, "two")
    assert shelf.put(512, "three")
    assert (shelf.nbytes, len(shelf)) == (1024, 3)
    assert shelf.take(1024) is None
    assert [shelf.take(256), shelf.take(256), shelf.take(256)] == ["two", "one", None]
    assert list(shelf.clear()) == ["three"]
    assert (shelf.nbytes, len(shelf), shelf.take(512)) == (0, 0, None)


def test_no_more_waits_than_its_bytes() -> None:
    shelf: Shelf[int] = Shelf(1024)
    assert [shelf.put(512, at) for at in range(4)] == [True, True, False, False]
    shelf.take(512)
    assert shelf.put(512, 5)
    assert not Shelf[int](1 << 40).put((16 << 20) + 256, 0)


def test_neighbouring_sizes_share_buffers_and_large_ones_are_as_asked() -> None:
    assert [grain(each) for each in (1, 256, 257, 1000)] == [256, 256, 512, 1024]
    assert grain((16 << 20) + 4) == (16 << 20) + 4
