"""Obstacles: the reasons why code cannot be followed."""

from __future__ import annotations

from typing import Final, NamedTuple

from gdb_etm.program.blocks import Block, BlockEnd
from gdb_etm.program.isa import Isa, is_aligned
from gdb_etm.protocols.elements import GapReason

# Makes a named tuple of a tuple, three times as fast as its class does.
_new: Final = tuple.__new__


class Obstacle(NamedTuple):
    """A gap's content where code cannot be followed."""

    reason: GapReason
    detail: str
    address: int


def no_code(address: int, isa: Isa) -> Obstacle:
    """Explain why there is no instruction at an address."""
    if is_aligned(address, isa):
        return _new(Obstacle, (GapReason.NO_CODE, "", address))
    return Obstacle(GapReason.BAD_IMAGE, "no %s instruction begins at 0x%08x" % (isa.name, address), address)


def not_taken(address: int) -> Obstacle:
    """Explain that a branch at an address is always taken."""
    detail = "the branch at 0x%08x is always taken, the trace says it was not" % address
    return Obstacle(GapReason.BAD_IMAGE, detail, address)


def in_block(block: Block) -> Obstacle:
    """Explain why a block cannot end as the trace says."""
    if block.stop is BlockEnd.NO_CODE:
        return no_code(block.end, block.isa)
    if block.last is not None:
        return not_taken(block.end - block.last.size)
    detail = "no branch from 0x%08x on, where the trace has one" % block.start
    return Obstacle(GapReason.BAD_IMAGE, detail, block.end)
