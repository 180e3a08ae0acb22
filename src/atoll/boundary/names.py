"""Is this text an identifier everywhere? Names must hold in C, in C++ and in Python."""

from __future__ import annotations

import keyword
import re
from functools import lru_cache

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_CXX_WORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t
    class compl concept const consteval constexpr constinit const_cast continue co_await co_return co_yield
    decltype default delete do double dynamic_cast else enum explicit export extern false float for friend
    goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private
    protected public register reinterpret_cast requires restrict return short signed sizeof static
    static_assert static_cast struct switch template this thread_local throw true try typedef typeid
    typename union unsigned using virtual void volatile wchar_t while xor xor_eq
"""
_CXX_KEYWORDS = frozenset(_CXX_WORDS.split())
MODULE_NAMES = frozenset(
    {"device_name", "devices", "last_error", "use", "IslandError", "RootUnavailableError"}
)
"""What a generated module, of C++ or of Python, defines beside the entries."""


def is_identifier(text: str) -> bool:
    """Tell whether `text` is made like an identifier (a keyword is)."""
    return _IDENTIFIER.fullmatch(text) is not None


def is_reserved(text: str) -> bool:
    """Tell whether an entry of this name would meet a symbol of the generated code, or of every program."""
    return text == "main" or text.startswith(("atoll_", "PyInit_"))


def is_keyword(text: str) -> bool:
    """Tell whether `text` is a keyword of C++ or of Python."""
    return text in _CXX_KEYWORDS or keyword.iskeyword(text)


def safe(text: str) -> str:
    """Return an identifier that is a keyword nowhere: a keyword gets a trailing ``_``."""
    return f"{text}_" if is_keyword(text) else text


def python_safe(text: str) -> str:
    """Return an identifier for Python alone: a Python keyword gets a trailing ``_``."""
    return f"{text}_" if keyword.iskeyword(text) else text


@lru_cache(maxsize=4096)
def folded(text: str) -> str:
    """Return `text` as an identifier: characters that cannot stand in one become ``_``.

    Used for the package name and for file names of the data boundary.
    """
    name = re.sub(r"[^A-Za-z0-9_]", "_", text)
    return safe(f"_{name}" if name[:1].isdigit() or not name else name)


def module_stem(module: str) -> str:
    """Return a module's name for files and macros: ``thread.kernels`` gives ``thread_kernels``."""
    return module.replace(".", "_")
