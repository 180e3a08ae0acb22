"""Which of these words is the nearest? For "did you mean"."""

from __future__ import annotations

from collections.abc import Iterable


def distance(left: str, right: str, bound: int) -> int:
    """Return the edit distance (a swap of neighbours counts one), or `bound` + 1 where it is above."""
    if abs(len(left) - len(right)) > bound:
        return bound + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, char in enumerate(left, 1):
        older, before, row = before, row, [i]
        for j, other in enumerate(right, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (char != other))
            if i > 1 and j > 1 and char == right[j - 2] and left[i - 2] == other:
                best = min(best, older[j - 2] + 1)
            row.append(best)
        if min(row) > bound:
            return bound + 1
    return min(row[-1], bound + 1)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word nearest to `word`, or None where none is near."""
    bound = max(1, min(3, len(word) // 2))
    near = [(distance(word.lower(), other.lower(), bound), other) for other in known]
    close = sorted(pair for pair in near if pair[0] <= bound)
    return close[0][1] if close else None
