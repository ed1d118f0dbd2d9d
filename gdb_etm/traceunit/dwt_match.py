"""Comparators of a Cortex-M's DWT in the service of its trace unit: they only tell it that they match.

DDI 0403E, C1.8 (Armv7-M: aligned blocks whose sizes are powers of two).
"""

from __future__ import annotations

from typing import Iterator, NamedTuple

from gdb_etm.registers import dwt
from gdb_etm.traceunit.plan import RegisterWrite


class Block(NamedTuple):
    """What a comparator is to match."""

    address: int
    ignored: int
    """How many low bits of the address may be anything."""
    function: int
    """DWT_FUNCTION.FUNCTION."""
    why: str


def block_writes(number: int, block: Block) -> Iterator[RegisterWrite]:
    """Write one comparator of an Armv7-M's DWT.

    :param number: Which one.
    """
    rows = (
        (dwt.DWT_FUNCTION[number], 0, "not used while it is programmed"),
        (dwt.DWT_COMP[number], block.address, block.why),
        (dwt.DWT_MASK[number], block.ignored, block.why),
        (dwt.DWT_FUNCTION[number], block.function, "tell the trace unit of it"),
    )
    for register, value, reason in rows:
        mask = register.fields["FUNCTION"].mask if "FUNCTION" in register.fields else register.mask
        yield RegisterWrite(register.name, register.offset, value, mask, reason)
