"""Blocks that an allocator did not give, used all the same."""

from __future__ import annotations

from typing import Optional

from gdb_etm.diagnosis.blocks import asked
from gdb_etm.diagnosis.pointers import PointerRoots
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.diagnosis.site import NEAR_NULL, FaultSite
from gdb_etm.diagnosis.slice import Slice
from gdb_etm.diagnosis.suspicion import Suspicion, SuspicionKind
from gdb_etm.recovery.values import Tier


def no_memory(scene: Scene, site: FaultSite, slice_: Slice, pointers: PointerRoots) -> Optional[Suspicion]:
    """Name the call of an allocator whose NULL went wrong.

    :param slice_: All of it, of what went wrong.
    :param pointers: Tells who gave a block.
    """
    if not site.is_address:
        return None
    for node in slice_.nodes:
        path = slice_.path(node)
        values = [scene.value(one.place) for one in path]
        numbers = [NEAR_NULL if one.value is None else one.value for one in values]
        if numbers[-1] or max(numbers) >= NEAR_NULL or any(one.is_address for one in path):
            continue
        allocation = pointers.allocation(node.place, node.maker)
        called_at = None if allocation is None else allocation.frame.called_at
        tier = max([one.tier for one in values])
        if allocation is None or allocation.function is None or called_at is None or tier > Tier.ASSUMED:
            continue
        size = asked(scene, allocation)
        what = "memory" if size is None else "%d bytes" % size
        text = "asks %s for %s and gets NULL, which is used all the same" % (allocation.function.name, what)
        return Suspicion(SuspicionKind.NO_MEMORY, called_at, text, tier)
    return None
