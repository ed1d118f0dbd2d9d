"""What a handler has changed between the fault and the halt.

Fault status is cleared by writing ones (Armv8-M ARM, DDI 0553, D1.2.13), and a handler may move the stacked PC on.
"""

from __future__ import annotations

from typing import Dict, List, Mapping, NamedTuple, Optional, Tuple

from gdb_etm.diagnosis.causes import is_fault
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.protocols.elements import Exception_
from gdb_etm.recovery.makers import MakerKind, MemoryPlace

_WORD, _SPSEL = 4, 1 << 2
_PC_IN_FRAME = 24
# The addresses of the fault status registers (Armv8-M ARM, D1.2); those of which a one that is written clears a bit.
_REGISTERS = {
    0xE000ED28: "cfsr",
    0xE000ED2C: "hfsr",
    0xE000ED30: "dfsr",
    0xE000ED34: "mmfar",
    0xE000ED38: "bfar",
    0xE000EDE4: "sfsr",
    0xE000EDE8: "sfar",
}
_CLEARED = ("cfsr", "hfsr", "dfsr", "sfsr")


class AtFault(NamedTuple):
    """The registers of a fault as they were when it was taken."""

    # Those that a handler has changed are left out, where their value is not known.
    registers: Mapping[str, int]
    # Each a line: what was changed, and by which instruction.
    notes: Tuple[str, ...]


def last_fault(scene: Scene) -> Optional[Tuple[int, Exception_]]:
    """Give the last fault of a history, with the instruction before it."""
    faults = scene.history.exceptions(is_fault)
    return faults[-1] if faults and faults[-1][0] else None


def at_fault(scene: Scene, registers: Mapping[str, int]) -> AtFault:
    """Undo what a handler has changed of a fault's registers.

    :param registers: As they are at the halt.
    """
    fault = last_fault(scene)
    if fault is None or fault[1].vector is None:
        # Status of A-profile is not in memory.
        return AtFault(registers, ())
    found, notes = dict(registers), []
    written = _written(scene, fault[0])
    for name, number in written.items():
        if name not in found:
            continue
        before = _before(scene, name, number, found[name])
        if before is None:
            del found[name]
            notes.append("%s: the handler has written it at #%s: what it was is not known" % (name.upper(), _n(number)))
        else:
            found[name] = before
            text = "%s: the handler has written it at #%s: it was 0x%08x before"
            notes.append(text % (name.upper(), _n(number), before))
    return AtFault(found, (*notes, *_stacked(scene, *fault)))


def _n(number: int) -> str:
    return format(number, ",")


def _written(scene: Scene, fault: int) -> Dict[str, int]:
    # The first store to each register since the fault.
    found: Dict[str, int] = {}
    for address, name in _REGISTERS.items():
        touches = scene.index.touching(address, _WORD, fault + 1)
        stores = [one.number for one in touches if one.store and one.number > fault]
        if stores:
            found[name] = stores[0]
    return found


def _before(scene: Scene, name: str, number: int, now: int) -> Optional[int]:
    # What was written back to clear it is what was read from it.
    address = next(address for address, one in _REGISTERS.items() if one == name)
    origins = scene.recovery.origins(number)
    stored = [origins.stored(number, address + index) for index in range(_WORD)] if origins is not None else []
    parts = [one[1] for one in stored if one is not None]
    if name not in _CLEARED or len(parts) < _WORD or None in parts:
        return None
    value = sum((part or 0) << 8 * index for index, part in enumerate(parts))
    maker = stored[0][0] if stored[0] is not None else None
    for _ in range(_WORD):
        if maker is None or len(maker.sources) != 1:
            return None
        source = maker.sources[0]
        if isinstance(source, MemoryPlace):
            is_own = source.address == address and maker.kind is MakerKind.LOADED
            return now | value if is_own else None
        maker = scene.maker(source)
    return None


def _stacked(scene: Scene, fault: int, event: Exception_) -> List[str]:
    # The PC in the fault's frame, where it is not that of the trace.
    if event.return_address is None or fault >= len(scene.history):
        return []
    link = scene.register(fault + 1, "lr")
    pointer = scene.register(fault + 1, "psp" if link is not None and link & _SPSEL else "sp")
    if link is None or pointer is None or not scene.is_ram(pointer):
        return []
    address = pointer + _PC_IN_FRAME
    value = scene.value(MemoryPlace(len(scene.history) + 1, address, _WORD)).value
    if value is None or value & ~1 == event.return_address & ~1:
        return []
    touches = scene.index.touching(address, _WORD, fault + 1)
    stores = [one.number for one in touches if one.store and one.number > fault]
    by = "#%s has changed it" % _n(stores[-1]) if stores else "the frame was overwritten, or is not there"
    return [
        "stacked PC 0x%08x: not where it faulted, which is 0x%08x by the trace: %s" % (value, event.return_address, by)
    ]
