"""Transfers of other masters, such as DMA: memory that a device writes.

The trace shows nothing of them but how they were started: an address of RAM that the program stored to a device's
register, and numbers beside it, one of which is the length.
"""

from __future__ import annotations

from typing import List, NamedTuple, Optional, Tuple

from gdb_etm.diagnosis.scene import Scene
from gdb_etm.recovery.makers import KnownAccess, Maker, MakerKind

_WORD = 4
# Where devices are that are not the core's own (Armv8-M ARM, B8.1).
_DEVICES = range(0x40000000, 0x60000000)
# A channel's registers: their distance in bytes, and in instructions.
_NEAR, _REACH = 64, 40
# Lengths, and the units that they may count.
_LONGEST, _UNITS = 1 << 16, (1, 2, 4)
# Steps back along the same value.
_STEPS = 30


class Length(NamedTuple):
    """A number beside the address of a transfer."""

    # The store's instruction.
    number: int
    # Of the device's register.
    register: int
    value: int


class Transfer(NamedTuple):
    """A store of an address to a device's register."""

    # The store's instruction.
    number: int
    # Of the device's register.
    register: int
    # The address that it was given.
    target: int
    lengths: Tuple[Length, ...]

    @property
    def shortest(self) -> int:
        """How many bytes it is of if it counts bytes."""
        return max([one.value for one in self.lengths], default=_WORD)

    def reaching(self, address: int, size: int) -> Optional[Tuple[Length, int]]:
        """Choose the length with which it reaches memory, and its bytes."""
        for unit in _UNITS:
            found = [one for one in self.lengths if address + size <= self.target + one.value * unit]
            if found and address >= self.target:
                best = min(found, key=lambda one: one.value)
                return best, best.value * unit
        return None


def transfers(scene: Scene) -> List[Transfer]:
    """List the transfers that a history starts, oldest first."""
    stored: List[Length] = []
    for number in range(1, len(scene.history) + 1):
        for access in scene.accesses(number):
            if access.store and access.size == _WORD and access.address in _DEVICES:
                value = _stored(scene, number, access)
                stored += [Length(number, access.address or 0, value)] if value is not None else []
    found: List[Transfer] = []
    for one in stored:
        if scene.is_ram(one.value):
            lengths = [other for other in stored if _is_beside(one, other) and 0 < other.value < _LONGEST]
            found.append(Transfer(one.number, one.register, one.value, tuple(lengths)))
    return found


def _is_beside(one: Length, other: Length) -> bool:
    is_near = 0 < abs(one.register - other.register) < _NEAR
    return is_near and abs(one.number - other.number) <= _REACH


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
        maker = scene.maker(maker.sources[0])
        if maker.kind is MakerKind.COMPUTED:
            return maker.number
    return maker.number if maker is not None and len(maker.sources) > 1 else number


def regions(found: List[Transfer]) -> Tuple[Tuple[int, int], ...]:
    """Join what transfers reach, as pieces of memory."""
    pieces: List[List[int]] = []
    for low, high in sorted((one.target, one.target + one.shortest) for one in found):
        if pieces and low <= pieces[-1][1]:
            pieces[-1][1] = max(pieces[-1][1], high)
        else:
            pieces.append([low, high])
    return tuple([(low, high) for low, high in pieces])
