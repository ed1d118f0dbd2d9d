"""One instruction on Unicorn and by its operations, from the same state."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import Dict, List, NamedTuple, Optional

from gdb_etm.program.isa import Isa, decode_a32, decode_t16, decode_t32, is_wide
from gdb_etm.recovery.lift.instruction import lift
from gdb_etm.recovery.lift.operations import HANDLER, MASK, MEANT, MSP, PSP, SP, Lifted
from tests.recovery.interpreter import Result, Write, run
from tests.recovery.processor import Processor, State, Step, random_state

# Unicorn keeps these by the mode, not by name.
_NOT_COMPARED = frozenset((MSP, PSP, HANDLER))
_STATES = 256


class Core(NamedTuple):
    """A core of Unicorn's and what it runs."""

    model: str
    isa: Isa
    floating_point: bool = False


M33 = Core("CORTEX_M33", Isa.T32)
M33_FLOAT = Core("CORTEX_M33", Isa.T32, True)
A9_T32 = Core("CORTEX_A9", Isa.T32)
A9_A32 = Core("CORTEX_A9", Isa.A32)
A9_FLOAT = Core("CORTEX_A9", Isa.A32, True)


@lru_cache(maxsize=None)
def processor(core: Core) -> Processor:
    """Give a core that runs."""
    return Processor(core.model, core.isa is Isa.T32, core.floating_point)


class Tally(NamedTuple):
    """What comes of many comparisons."""

    # What differs, with the instruction.
    wrong: List[str]
    # Instructions that Unicorn has run.
    compared: int
    # Those of them that have a model.
    modelled: int


def compare(core: Core, codes: List[bytes], seed: int, it_state: int = 0) -> Tally:
    """Run instructions from random states.

    :param codes: Their bytes.
    :param it_state: ITSTATE as each of them runs.
    """
    chance = random.Random(seed)
    states = [random_state(chance) for _number in range(_STATES)]
    runs = processor(core)
    wrong: List[str] = []
    compared = modelled = 0
    for address, code in zip(runs.place(codes), codes):
        before = chance.choice(states)
        step = runs.step(address, before, it_state)
        if step is None:
            continue
        lifted = lift(code, address, core.isa, bool(it_state), runs.m_profile)
        compared += 1
        modelled += lifted.modelled
        for difference in differences(lifted, Placed(code, address, core.isa), runs, before, step):
            wrong.append("%s: %s" % (code.hex(), difference))
    return Tally(wrong, compared, modelled)


class Placed(NamedTuple):
    """An instruction somewhere."""

    code: bytes
    address: int
    isa: Isa


def differences(lifted: Lifted, placed: Placed, runs: Processor, before: State, step: Step) -> List[str]:
    """List differences to Unicorn; unknown values are none."""
    result = run(lifted, before, runs.memory)
    if any(value is not None and value & 3 for value in result.aligned):
        return []  # a fault on a core, but not on Unicorn
    state = step.state
    if runs.m_profile:
        # Unicorn lets bits 1:0 be written.
        state.update({SP: state[SP] & ~3})
    found = [
        "place %d: %#x, Unicorn %#x" % (place, value, state[place])
        for place, value in result.places.items()
        if value is not None
        and place in state
        and place not in _NOT_COMPARED
        and (value ^ state[place]) & MEANT.get(place, MASK)
    ]
    return found + _memory(result, step) + _next(result, lifted, placed, step)


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


def _next(result: Result, lifted: Lifted, placed: Placed, step: Step) -> List[str]:
    direct, fall = _target(placed), placed.address + lifted.size
    if lifted.target is not None:
        # Unicorn leaves T alone in an A32 return from an exception; bit 1 counts only in T32.
        low = 1 if lifted.interworks or placed.isa is Isa.T32 else 3
        expected = None if result.target is None else result.target & ~low | step.pc & low
    elif lifted.taken is not None:
        expected = None if result.taken is None else direct if result.taken else fall
    else:
        expected = direct or fall
    if result.clobbered or expected is None or expected == step.pc:
        return []
    return ["next %#x, Unicorn %#x" % (expected, step.pc)]


def _target(placed: Placed) -> int:
    code, address = placed.code, placed.address
    if placed.isa is Isa.A32:
        return decode_a32(address, int.from_bytes(code, "little")).target
    first, second = int.from_bytes(code[:2], "little"), int.from_bytes(code[2:4], "little")
    return (decode_t32(address, first, second) if is_wide(first) else decode_t16(address, first)).target
