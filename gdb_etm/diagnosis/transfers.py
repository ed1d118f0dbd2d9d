"""Transfers that a program starts, and who made their numbers."""

from __future__ import annotations

from typing import List, Optional

from gdb_etm.diagnosis.pointers import POINTERS
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.recovery.makers import KnownAccess, Maker, MakerKind, RegisterPlace
from gdb_etm.recovery.transfers import DEVICES, Length, Transfer, started

_WORD = 4
# Steps back along the same value.
_STEPS = 30


def transfers(scene: Scene) -> List[Transfer]:
    """List the transfers that a history starts, oldest first."""
    stored: List[Length] = []
    for number in range(1, len(scene.history) + 1):
        for access in scene.accesses(number):
            if access.store and access.size == _WORD and access.address in DEVICES:
                value = _stored(scene, number, access)
                stored += [Length(number, access.address or 0, value)] if value is not None else []
    return started(stored, scene.is_ram)


def _stored(scene: Scene, number: int, access: KnownAccess) -> Optional[int]:
    origins = scene.recovery.origins(number)
    value = 0
    for index in range(access.size):
        one = origins.stored(number, (access.address or 0) + index) if origins is not None else None
        if one is None or one[1] is None:
            return None
        value |= one[1] << 8 * index
    return value


def made_by(scene: Scene, number: int, register: int) -> int:
    """Give the instruction that made what a store gave a device.

    :param number: The store's, which it is itself where that value is a constant.
    :param register: The device's.
    """
    origins = scene.recovery.origins(number)
    stored = origins.stored(number, register) if origins is not None else None
    maker: Optional[Maker] = stored[0] if stored is not None else None
    for _ in range(_STEPS):
        if maker is None or len(maker.sources) != 1:
            break
        source = maker.sources[0]
        if isinstance(source, RegisterPlace) and source.name in POINTERS:
            return maker.number
        maker = scene.maker(source)
        if maker.kind is MakerKind.COMPUTED:
            return maker.number
    return maker.number if maker is not None and len(maker.sources) > 1 else number
