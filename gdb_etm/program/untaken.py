"""Branches that are taken whenever they run.

Ref: Armv8-M ARM (C1.3, C2.4) and A-profile ARM (F1.2, F4.1, C4.1.66) for conditions; IHI 0064 H.a, 5.2.5: an N atom of
an unconditional branch is corrected by a Mispredict or a Cancel element.
"""

from __future__ import annotations

from typing import Callable, Final, Optional

from gdb_etm.program.conditions import ALWAYS, enters_it_block, next_it_state
from gdb_etm.program.isa import Isa, is_unconditional, is_wide

# ``read(address, size)`` reads program memory; shorter where it is unknown.
Read = Callable[[int, int], bytes]

# In bytes, from the IT instruction up to the fourth instruction after it.
_LONGEST_IT_BLOCK: Final = 14


def always_taken(read: Read, start: int, address: int, isa: Isa) -> bool:
    """Return whether a branch is taken whenever it runs.

    :param start: Where an instruction begins that runs before the branch; the branch's own address when none is known.
    :param address: Address of the branch.
    """
    if not is_unconditional(int.from_bytes(read(address, 4), "little"), isa):
        return False
    return isa is not Isa.T32 or not _may_be_in_it_block(read, start, address)


def _may_be_in_it_block(read: Read, start: int, address: int) -> bool:
    # What looks like IT before ``start`` may be part of another instruction, or data; that is not known.
    for at in range(address - 2, address - _LONGEST_IT_BLOCK - 1, -2):
        half = int.from_bytes(read(at, 2), "little")
        if not enters_it_block(half) or at >= start and _count(read, start, at) is None:
            continue
        between = _count(read, at + 2, address)
        state = half & 0xFF
        for _ in range(between or 0):
            state = next_it_state(state)
        if between is not None and state and state >> 4 < ALWAYS:
            return True
    return False


def _count(read: Read, start: int, end: int) -> Optional[int]:
    # How many T32 instructions there are from one address to another; None when that one is inside of one.
    at, count = start, 0
    while at < end:
        at += 4 if is_wide(int.from_bytes(read(at, 2), "little")) else 2
        count += 1
    return count if at == end else None
