"""Blocks that allocators gave."""

from __future__ import annotations

from typing import Optional

from gdb_etm.diagnosis.library import is_allocator
from gdb_etm.diagnosis.names import Area
from gdb_etm.diagnosis.scene import ActivationSpan, Scene


def block_of(scene: Scene, allocation: Optional[ActivationSpan]) -> Optional[Area]:
    """Give the block that a call of an allocator returned.

    :returns: None where its place or size is not known.
    """
    if allocation is None or not allocation.is_whole or allocation.function is None:
        return None
    name = allocation.function.name
    if not is_allocator(name) or scene.names.is_copy(allocation.function.start):
        return None
    start = scene.result(allocation)
    order = ("r1", "r0") if name.startswith("_") and name.endswith("_r") else ("r0", "r1")
    size = scene.register(allocation.first, order[0])
    if "calloc" in name:
        count = scene.register(allocation.first, "r1" if order[0] == "r0" else "r2")
        size = size * count if size is not None and count is not None else None
    if "realloc" in name:
        size = scene.register(allocation.first, "r2" if order[0] == "r1" else "r1")
    if start is None or size is None:
        return None
    return Area("the block of %d bytes from %s" % (size, name), start, size, True)


def block_at(scene: Scene, number: int, address: int) -> Optional[Area]:
    """Give the newest block that holds an address before an instruction."""
    for one in reversed(scene.activations()):
        block = block_of(scene, one) if one.last < number else None
        if block is not None and block.start <= address < block.end:
            return block
    return None
