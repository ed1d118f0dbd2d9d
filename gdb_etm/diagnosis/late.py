"""Stores that failed late, of which an imprecise error tells.

Ref: Armv7-M (DDI 0403E), B1.5.14 and B3.2.15: IMPRECISERR; Armv8-M (DDI 0553), D1.2.13.
"""

from __future__ import annotations

from enum import IntEnum
from typing import List, NamedTuple, Optional, Tuple

from gdb_etm.diagnosis.operands import operands
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.program.conditions import ALWAYS
from gdb_etm.recovery.lift.operations import Op
from gdb_etm.recovery.makers import RegisterPlace

# Instructions back from the fault: no write buffer takes longer.
_REACH = 64
# Bytes beyond all that the program has used before: it goes there for the first time, or nothing is there.
_NEAR = 4096
# The core's own registers, whose stores no buffer delays (Armv7-M ARM, B3.1; Armv8-M ARM, B8.1).
_OWN = range(0xE0000000, 0xE0100000)


class StoreDoubt(IntEnum):
    """Why a store may have failed, the likeliest first."""

    NO_MEMORY = 0
    NOT_WRITABLE = 1
    FAR = 2
    NOT_KNOWN = 3
    DEVICE = 4


class LateStore(NamedTuple):
    """A store that may have failed after it ran."""

    doubt: StoreDoubt
    number: int
    # None where it is not known.
    address: Optional[int]
    # What that was made from.
    places: Tuple[RegisterPlace, ...]

    @property
    def is_sure(self) -> bool:
        """Whether it must have failed."""
        return self.doubt <= StoreDoubt.FAR


def late_stores(scene: Scene, last: int) -> List[LateStore]:
    """List what an imprecise error may be of, the likeliest first.

    :param last: The last instruction before the error was reported.
    """
    found: List[LateStore] = []
    used = scene.index.extent(scene.recovery.rules.ram, last - _REACH)
    for number in range(last, max(last - _REACH, 0), -1):
        found += _stores(scene, number, used)
    # Of those that must fail the first did so; any other is the likelier the later it is.
    return sorted(found, key=lambda one: (one.doubt, one.number if one.is_sure else -one.number))


def _stores(scene: Scene, number: int, used: Optional[range]) -> List[LateStore]:
    template = scene.template(number)
    if template is None or all(step[0] != Op.STORE for step in template.steps):
        return []
    known = [one for one in scene.accesses(number) if one.store]
    if template.condition != ALWAYS and not known:
        return []

    def read(name: str) -> Optional[int]:
        return scene.value(RegisterPlace(number, name)).value

    found: List[LateStore] = []
    for one in operands(template, read):
        doubt = _doubt(scene, one.value, used) if one.what == "store" else None
        if doubt is not None:
            places = tuple([RegisterPlace(number, name) for name in one.registers])
            found.append(LateStore(doubt, number, one.value, places))
    return found[:1]


def _doubt(scene: Scene, address: Optional[int], used: Optional[range]) -> Optional[StoreDoubt]:
    if address is None:
        return StoreDoubt.NOT_KNOWN
    if not scene.is_mapped(address):
        return StoreDoubt.NO_MEMORY
    if scene.is_device(address):
        return None if scene.is_m_profile and address in _OWN else StoreDoubt.DEVICE
    if not scene.is_ram(address):
        return StoreDoubt.NOT_WRITABLE
    is_far = used is not None and not used.start - _NEAR <= address < used.stop + _NEAR
    return StoreDoubt.FAR if is_far else None
