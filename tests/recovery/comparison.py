"""One instruction on Unicorn and by its operations, from the same state."""

from __future__ import annotations

from typing import Dict, List, Optional

from gdb_etm.program.isa import Isa, decode_a32, decode_t16, decode_t32, is_wide
from gdb_etm.recovery.operations import CONTROL, HANDLER, MSP, PSP, SP, Lifted
from tests.recovery.interpreter import Result, Write, run
from tests.recovery.processor import Processor, State, Step

# Unicorn keeps these by the mode, not by name.
_NOT_COMPARED = frozenset((MSP, PSP, HANDLER))


def differences(lifted: Lifted, code: bytes, address: int, isa: Isa, core: Processor, before: State, step: Step) -> List[str]:
    """Tell where the operations say otherwise than Unicorn; what they leave unknown is no difference."""

    result = run(lifted, before, core.memory)
    if any(value is not None and value & 3 for value in result.aligned):
        return []  # a fault on a core, but not on Unicorn
    if core.m_profile:
        step.state[SP] &= ~3  # Unicorn lets bits 1:0 be written
        step.state[CONTROL] &= 3  # what is above is no part of the place
    found = [
        "place %d: %#x, Unicorn %#x" % (place, value, step.state[place])
        for place, value in result.places.items()
        if value is not None and place in step.state and place not in _NOT_COMPARED and value != step.state[place]
    ]
    return found + _memory(result, step) + _next(result, lifted, code, address, isa, step)


def _memory(result: Result, step: Step) -> List[str]:
    if result.clobbered or any(write.address is None for write in result.writes):
        return []
    stored: Dict[int, Optional[int]] = {}
    for write in result.writes:
        stored.update(_bytes(write))
    found = []
    for where, value in stored.items():
        if value is not None and step.written.get(where) != value:
            found.append("byte %#x: %#x, Unicorn %s" % (where, value, step.written.get(where)))
    return found + ["byte %#x is written" % where for where in step.written if where not in stored]


def _bytes(write: Write) -> Dict[int, Optional[int]]:
    assert write.address is not None
    return {
        write.address + index & 0xFFFFFFFF: None if write.value is None else write.value >> 8 * index & 0xFF
        for index in range(write.size)
    }


def _next(result: Result, lifted: Lifted, code: bytes, address: int, isa: Isa, step: Step) -> List[str]:
    if isa is Isa.A32:
        insn = decode_a32(address, int.from_bytes(code[:4], "little"))
    else:
        first, second = int.from_bytes(code[:2], "little"), int.from_bytes(code[2:4], "little")
        insn = decode_t32(address, first, second) if is_wide(first) else decode_t16(address, first)
    fall = address + lifted.size
    if lifted.target is not None:
        # Unicorn leaves T alone in an A32 return from an exception; bit 1 counts only in T32.
        low = 1 if lifted.interworks or isa is Isa.T32 else 3
        expected = None if result.target is None else result.target & ~low | step.pc & low
    elif lifted.taken is not None:
        expected = None if result.taken is None else insn.target if result.taken else fall
    else:
        expected = insn.target or fall
    if result.clobbered or expected is None or expected == step.pc:
        return []
    return ["next %#x, Unicorn %#x" % (expected, step.pc)]
