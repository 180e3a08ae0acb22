"""Where does a SYCL source launch a lambda? Only a SYCL compiler driver can make device code of one."""

from __future__ import annotations

import re

_HIDDEN = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|R\"(\w*)\(.*?\)\1\"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL
)
_LAUNCH = re.compile(r"\b(parallel_for|parallel_for_work_group|single_task)\b")
MOST = 16 << 20


def lambda_kernels(text: str) -> list[tuple[int, str]]:
    """Return (line, launch) of each launch whose arguments hold a lambda at their own level."""
    plain = _HIDDEN.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text[:MOST])
    found = []
    for match in _LAUNCH.finditer(plain):
        opened = _arguments(plain, match.end())
        if opened is not None and _has_lambda(plain, opened):
            found.append((plain.count("\n", 0, match.start()) + 1, match[1]))
    return found


def _arguments(text: str, at: int) -> int | None:
    """Return where the arguments of a call begin: behind template arguments, where there are some."""
    rest = re.compile(r"\s*").match(text, at)
    at = rest.end() if rest else at
    if text[at : at + 1] == "<":
        depth = 0
        for index in range(at, min(len(text), at + 4096)):
            depth += {"<": 1, ">": -1}.get(text[index], 0)
            if depth == 0:
                at = index + 1
                break
        else:
            return None
    call = re.compile(r"\s*\(").match(text, at)
    return call.end() if call else None


def _has_lambda(text: str, at: int) -> bool:
    depth, fresh = 0, True
    for sign in text[at:]:
        if depth == 0 and sign == ")":
            return False
        if depth == 0 and fresh and sign == "[":
            return True
        if depth == 0 and sign == ",":
            fresh = True
        elif not sign.isspace():
            fresh = False
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(sign, 0)
    return False
