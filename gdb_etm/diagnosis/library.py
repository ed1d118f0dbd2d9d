"""Functions that others wrote: C libraries, allocators, compilers' helpers."""

from __future__ import annotations

import re

_COPIES = re.compile(
    r"(__aeabi_)?mem(cpy|move|set|clr|cmp|chr)\w*"
    r"|str(n?cpy|n?cat|lcpy|lcat|n?cmp|n?len|n?dup|chr|rchr|str|tok\w*|to\w+)"
    r"|stpn?cpy|_?v?(s|sn|f|a|as)?i?printf(_r)?|_printf_\w+|__s(print|sprint)\w*|_?v?(s|f)?i?scanf(_r)?|qsort|bsearch"
    r"|_?(malloc|calloc|realloc|free)(_r)?|_Zn[aw]\w+|_Zd[al]\w+|_ZNK?St\w+|_ZSt\w+|_ZN?9__gnu\w+"
    # As debuggers write names of C++.
    r"|operator (new|delete)\b.*|((const )?[\w:]+[*&]? )?(std|__gnu_cxx)::.*"
)
# Itanium C++ ABI, 5.1.4.3.
_DESTRUCTOR = re.compile(r"^_Z.*D[0-2]Ev$")
_PATHS = ("newlib/", "libgcc/", "libstdc++", "/gcc/", "/include/c++/", "/library/core/", "/library/alloc/", "/lib/std/")
# Functions that tell of what went wrong, and never return.
_REPORT = re.compile(
    r"_*assert(_fail|_func|_failed)?|vAssertCalled|abort|__stack_chk_fail|__cxa_pure_virtual"
    r"|std::terminate(\(.*\))?|_ZSt9terminatev"
    # What panics in Rust call: as debuggers write the names, which may have hashes, and as symbols have them.
    r"|rust_begin_unwind|(core|alloc|std)(\[\w+\])?::(panicking::|([\w:]*::)?(panic_|(expect|unwrap)_failed"
    r"|slice_\w*fail|capacity_overflow|handle_alloc_error)).*"
    r"|_(ZN|R)\w*(4core|5alloc|3std)(9panicking|\w*\d(panic_|(expect|unwrap)_failed|slice_\w*fail|capacity_overflow"
    r"|handle_alloc_error))\w*"
    # And in Zig.
    r"|(std\.)?debug\.(FullPanic\(.*|(no_panic|simple_panic)\..*|(default)?[pP]anic\w*)"
)
# What is done about memory, and gives none.
_ABOUT = re.compile(r"lock|init|info|stats|trim|usable|count|check", re.IGNORECASE)
# A container of libstdc++ takes memory for itself.
_GROWS = "_M_realloc"
_BRACKETS = re.compile(r"<[^<>]*>|\([^()]*\)|\[[^\[\]]*\]")


def is_library(name: str, path: str) -> bool:
    """Check whether a function is a library's.

    :param name: As its symbol has it, or as a debugger writes it.
    :param path: Of its source file; empty where unknown.
    """
    return bool(_COPIES.fullmatch(name)) or is_library_file(path)


def is_library_file(path: str) -> bool:
    """Check whether a source file is a library's."""
    return any(part in path for part in _PATHS)


def is_report(name: str) -> bool:
    """Check whether a function of that name tells of a mistake.

    Such a function never returns.
    """
    return bool(_REPORT.fullmatch(name))


def is_allocator(name: str) -> bool:
    """Check whether a function of that name gives memory."""
    # Its class may be an allocator's, too.
    plain = _plain(name).rpartition("::")[2]
    is_named = (
        "alloc" in plain.lower()
        and not _ABOUT.search(plain)
        or plain in ("_Znwj", "_Znaj", "_sbrk_r", "_sbrk", "operator new")
    )
    return is_named and not is_release(name) and not is_destructor(name) and _GROWS not in plain


def is_release(name: str) -> bool:
    """Check whether a function of that name takes memory back."""
    low = _plain(name).lower()
    is_named = low.endswith("free") or "dealloc" in low or low == "operator delete"
    return is_named or low == "_free_r" or low.startswith(("_zdl", "_zda"))


def is_destructor(name: str) -> bool:
    """Check whether a function of that name destroys an object."""
    return "~" in _plain(name) or bool(_DESTRUCTOR.search(name))


def _plain(name: str) -> str:
    # Without arguments, those of templates too, in which there are other names.
    if name.startswith("_Z"):
        return name
    before = ""
    while before != name:
        before, name = name, _BRACKETS.sub("", name)
    return name.strip()
