"""Where branches went that nothing could be executed at."""

from __future__ import annotations

from typing import List, Mapping, Optional, Tuple

from gdb_etm.diagnosis.bad import Bad
from gdb_etm.diagnosis.reported import is_reported
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.recovery.lift.operations import LR, MASK, SP
from gdb_etm.recovery.lift.template import Template
from gdb_etm.recovery.makers import MemoryPlace

# What an exception leaves in LR (Armv8-M ARM, B3.18).
_EXC_RETURN = 0xFFFFFF00
_PC_IN_FRAME, _STATUS_IN_FRAME = 24, 28
# EXC_RETURN as cores make it, with the Security Extension and without it: its lowest byte.
_LEGAL = (0xA0, 0xA8, 0xAC, 0xB0, 0xB8, 0xBC, 0xE1, 0xE9, 0xED, 0xF1, 0xF9, 0xFD)
# Bits of it, and of xPSR.
_TO_PSP, _TO_THREAD, _T, _IPSR = 1 << 2, 1 << 3, 1 << 24, 0x1FF


def went_to(scene: Scene, number: int) -> Optional[int]:
    """Give where a branch went, if its operand is known."""
    maker = scene.target(number)
    return scene.value(maker.sources[0]).value if maker is not None and len(maker.sources) == 1 else None


def is_even(scene: Scene, number: int, last: Template) -> bool:
    """Check whether a branch has asked for A32 code.

    Armv6-M has no fault status registers that say so.
    """
    value = went_to(scene, number) if last.interworks and scene.is_m_profile else None
    return value is not None and value < _EXC_RETURN and not value & 1


def is_data(scene: Scene, address: int) -> bool:
    """Check whether a variable, and no function, holds an address."""
    return not scene.names.function(address) and bool(scene.names.containers(address & ~1))


def target(
    scene: Scene, number: int, last: Optional[Template], address: int, registers: Mapping[str, int]
) -> Tuple[Bad, ...]:
    """Give what is bad where a branch could not go on.

    :param number: The branch's.
    :param address: Where it went.
    :param registers: Of the core at the halt, with ``cfsr`` where it is known.
    """
    maker = scene.target(number)
    if maker is None or last is None:
        return ()
    value = None
    if len(maker.sources) == 1:
        source = maker.sources[0]
        value = scene.value(source).value
        if value is None and isinstance(source, MemoryPlace):
            # The trace says where it went, but for bit 0.
            here = scene.value(source)._replace(known=MASK & ~1, bits=address & ~1)
            scene.put(source, here, scene.maker(source))
    own = scene.activation(number)
    # In Thread mode it is an address like any other.
    is_return = scene.is_m_profile and value is not None and value >= _EXC_RETURN
    is_return = is_return and (own is None or own.frame.is_handling)
    status = _popped_status(scene, number, value, registers) if is_return and value is not None else ()
    if status:
        return status
    if is_return and address & ~1 != (value or 0) & ~1:
        # The return from an exception: what was popped is bad, unless it is EXC_RETURN.
        popped = _popped(scene, number, address)
        if popped:
            return popped
    what = "the address that it returns to" if last.target == LR or SP in last.writes else "the address that it goes to"
    if is_return:
        return (Bad("EXC_RETURN", value, "no value that the core accepts here", maker.sources),)
    why = why_not_code(scene, value, address)
    if is_reported(registers, "IACCVIOL") and scene.is_ram(address):
        # By the memory map alone it may.
        why = "in RAM, where the MPU lets no code run"
    return (Bad(what, value if value is not None else address, why, maker.sources),)


def _popped_status(scene: Scene, number: int, value: int, registers: Mapping[str, int]) -> Tuple[Bad, ...]:
    # The xPSR that a return from an exception takes from the frame (Armv8-M ARM, B3.22).
    pointer = scene.register(number, "psp" if value & _TO_PSP else "sp")
    if pointer is None or value & 0xFF not in _LEGAL:
        return ()
    place = MemoryPlace(number, (pointer + _STATUS_IN_FRAME) & MASK, 4)
    status, why = scene.value(place).value, ""
    if is_reported(registers, "INVSTATE") and not (status or 0) & _T:
        why = "bit 24 (T) is 0, which asks for A32 code"
    elif status is not None and is_reported(registers, "INVPC") and value & _TO_THREAD and status & _IPSR:
        why = "that of an exception, and it returns to a thread"
    return (Bad("the xPSR in the exception's frame", status, why, (place,)),) if why else ()


def _popped(scene: Scene, number: int, address: int) -> Tuple[Bad, ...]:
    found: List[Bad] = []
    for name in ("psp", "msp", "sp"):
        pointer = scene.register(number, name)
        if pointer is None:
            continue
        place = MemoryPlace(number + 1, (pointer + _PC_IN_FRAME) & MASK, 4)
        if scene.value(place).value == address:
            found.append(Bad("the PC in the exception's frame", address, why_not_code(scene, None, address), (place,)))
            break
    return tuple(found)


def why_not_code(scene: Scene, value: Optional[int], address: int) -> str:
    """Say why no instruction can be executed at an address.

    :param value: It as it was branched to, with the bit of the instruction set.
    """
    here = value if value is not None else address
    if here & ~1 == 0:
        return "NULL"
    if value is not None and not value & 1 and scene.is_m_profile and scene.history.program.read(value, 2):
        return "even: bit 0 is 0, which asks for A32 code"
    if is_data(scene, here) and not scene.is_ram(here):
        return "in %s, which is no function" % scene.names.containers(here & ~1)[0].name
    if scene.is_ram(here):
        return "in RAM, where no code is"
    return "where no code is"
