"""Registers that functions are called with, as far as debug information tells.

Ref: AAPCS32, 6.4 and 6.5; DWARF Debugging Information Format, version 5, 3.3.1.1 (calling conventions), 7.12
(languages).
"""

from __future__ import annotations

from typing import Any, Final, List, Sequence, Tuple

from gdb_etm.program.dies import attribute, number_of

_WORD: Final = 4
_ARGUMENTS: Final = ("r0", "r1", "r2", "r3")
# D, Go, Haskell, OCaml, Rust, Swift, Julia, Zig: what their functions are called with is their compilers' own affair.
_OTHERS: Final = frozenset((0x13, 0x16, 0x18, 0x1B, 0x1C, 0x1E, 0x1F, 0x27))
# Zig's says that its language is C.
_PRODUCERS: Final = ("zig ",)
_NORMAL: Final = 1


def has_convention(die: Any) -> bool:
    """Check whether a function is called as the procedure call standard says.

    A compiler changes that where it knows all callers.

    :param die: Its entry, as pyelftools has it.
    """
    top = die.cu.get_top_DIE()
    producer = attribute(top, "DW_AT_producer")
    if producer is not None and producer.value.decode("utf-8", "replace").startswith(_PRODUCERS):
        return False
    return (
        number_of(top, "DW_AT_language") not in _OTHERS
        and (number_of(die, "DW_AT_calling_convention") or _NORMAL) == _NORMAL
    )


def placed(sizes: Sequence[int], by_pointer: bool) -> Tuple[List[int], int]:
    """Place parameters in words: the first four are registers.

    :param sizes: In bytes.
    :param by_pointer: Whether the result is a structure that is returned through a pointer, which comes first.
    :returns: Of each parameter the number of its first word; and how many words there are.
    """
    at = int(by_pointer)
    found: List[int] = []
    for size in sizes:
        at += at % 2 if size and size % 8 == 0 else 0
        found.append(at)
        at += -(-size // _WORD)
    return found, at


def refutes(words: Sequence[int], registers: Sequence[str]) -> bool:
    """Check whether a parameter begins in another register than the standard's.

    :param words: As :func:`placed` gives them.
    :param registers: Where debug information has each at the function's beginning; empty where it says nothing.
    """
    given = [(word, register) for word, register in zip(words, registers) if register]
    return any(_ARGUMENTS[word : word + 1] != (register,) for word, register in given)
