"""Functions that others wrote: C libraries, allocators, compilers' helpers."""

from __future__ import annotations

import re

_COPIES = re.compile(
    r"(__aeabi_)?mem(cpy|move|set|clr|cmp|chr)\w*"
    r"|str(n?cpy|n?cat|lcpy|lcat|n?cmp|n?len|n?dup|chr|rchr|str|tok\w*|to\w+)"
    r"|stpn?cpy|_?v?(s|sn|f|a|as)?i?printf(_r)?|_printf_\w+|__s(print|sprint)\w*|_?v?(s|f)?i?scanf(_r)?|qsort|bsearch"
    r"|_?(malloc|calloc|realloc|free)(_r)?|_Zn[aw]\w+|_Zd[al]\w+|_ZNK?St\w+|_ZSt\w+|_ZN?9__gnu\w+"
)
_PATHS = ("newlib/", "libgcc/", "libstdc++", "/gcc/")


def is_library(name: str, path: str) -> bool:
    """Check whether a function is a library's.

    :param name: As its symbol has it.
    :param path: Of its source file; empty where unknown.
    """
    return bool(_COPIES.fullmatch(name)) or any(part in path for part in _PATHS)


def is_allocator(name: str) -> bool:
    """Check whether a function of that name gives memory."""
    return "alloc" in name.lower() and not is_release(name) or name in ("_Znwj", "_Znaj", "_sbrk_r", "_sbrk")


def is_release(name: str) -> bool:
    """Check whether a function of that name takes memory back."""
    low = name.lower()
    return low in ("free", "_free_r") or low.endswith("free") or "dealloc" in low or low.startswith(("_zdl", "_zda"))
