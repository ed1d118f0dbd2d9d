"""T32 instructions that a comparator of instruction addresses may miss.

IHI 0064, 4.2.4 (single address comparators) and 3.7.4 (SG); for such a place there is a better one beside it.
"""

from __future__ import annotations

from typing import Callable, Final, Optional

from gdb_etm.program.conditions import enters_it_block, next_it_state
from gdb_etm.program.isa import is_wide

# Reads program memory: address and number of bytes; fewer where there is no more.
ReadBytes = Callable[[int, int], bytes]

_SG: Final = b"\x7f\xe9\x7f\xe9"
_LOOP_ENDS: Final = (0xF00F, 0xF01F, 0xF02F)
_FARTHEST: Final = 1 << 16  # bytes from a function's first instruction that are walked


def doubt_of(read: ReadBytes, address: int, entry: Optional[int] = None) -> str:
    """Explain why a comparator may miss an instruction; empty when it cannot.

    :param address: Of the instruction.
    :param entry: The first instruction of its function, from which instructions are counted; None: unknown.
    """
    code = read(address, 4)
    if code == _SG:
        return "is SG, which Non-secure code runs: where Secure trace is forbidden it is not seen; take the next one"
    first, second = int.from_bytes(code[:2], "little"), int.from_bytes(code[2:], "little")
    if len(code) == 4 and first in _LOOP_ENDS and second & 0xF001 == 0xC001:
        return "ends a low-overhead loop, and is only seen the last time; take the instruction before it"
    block = None if entry is None else _it_block(read, entry, address)
    return (
        "" if block is None else ("is in the shadow of an IT instruction and may be missed; take that, 0x%08x" % block)
    )


def _it_block(read: ReadBytes, entry: int, address: int) -> Optional[int]:
    # The IT instruction before an address, if that is in its block.
    if not 0 <= address - entry < _FARTHEST:
        return None
    code = read(entry, address - entry)
    at, state, block = 0, 0, entry
    while at + 2 <= len(code):
        half = code[at] | code[at + 1] << 8
        if enters_it_block(half):
            state, block = half & 0xFF, entry + at
        elif state:
            state = next_it_state(state)
        at += 4 if is_wide(half) else 2
    return block if state and entry + at == address else None
