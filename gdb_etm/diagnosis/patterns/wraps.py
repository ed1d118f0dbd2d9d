"""Indices below zero, by which an access left its object."""

from __future__ import annotations

from typing import Optional, Tuple

from gdb_etm.diagnosis.scene import Scene
from gdb_etm.diagnosis.slice import Node, Slice
from gdb_etm.diagnosis.suspicion import Suspicion, SuspicionKind
from gdb_etm.recovery.makers import MakerKind
from gdb_etm.recovery.values import Tier

# Steps back from the address, and what counts as small.
_STEPS = 40
_SMALL = 0x1000
_SIGN, _SPACE = 1 << 31, 1 << 32


def wrapped(scene: Scene, slice_: Slice, outside: Suspicion) -> Optional[Suspicion]:
    """Find where a number went below zero, of an address.

    :param slice_: Of that address.
    :param outside: The access there that has left its object.
    """
    for node in slice_:
        if node.at >= _STEPS:
            break
        found = None if node.is_address else _below_zero(scene, node)
        if found is not None:
            text = "makes %d of %d, an index with which an access %s" % (found[1], found[0], outside.text)
            return Suspicion(SuspicionKind.WRAPPED, node.maker.number, text, max(outside.tier, node.maker.tier))
    return None


def _below_zero(scene: Scene, node: Node) -> Optional[Tuple[int, int]]:
    maker = node.maker
    if maker.kind is not MakerKind.COMPUTED or len(maker.sources) != 1 or maker.tier > Tier.ASSUMED:
        return None
    before, after = scene.value(maker.sources[0]).value, scene.value(node.place).value
    if before is None or after is None or not 0 <= before < _SMALL or after < _SIGN:
        return None
    return (before, after - _SPACE) if _SPACE - after <= _SMALL else None
