"""Worked by hand, property test, board's truth: threads with shared code.

A scheduler's control blocks tell them apart.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Dict, List, Mapping, Optional, Tuple

import pytest

from gdb_etm.capture import Core
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.isa import Isa
from gdb_etm.recovery.lift.template import Templates
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.ssa.exception_frames import Word
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa
from gdb_etm.recovery.threads.context_switch import CHAINED, ENTERED, LEFT, ContextSwitches, Part, Switch
from gdb_etm.recovery.threads.control_blocks import NOTHING, Period, Pointers, decide
from gdb_etm.recovery.values import CoreState, Tier
from tests.history.executed import Item, Returned, Taken, history_of
from tests.recovery.score import in_mid_run
from tests.recovery.small import CODE, RAM, built
from tests.recovery.test_threads import frame

SOURCE = """
work:
    add.w r4, r4, #1
    %s
    b work
    nop
switch:
    mrs r0, psp
    stmdb r0!, {r4, r5}
    movw r3, #0x0700
    movt r3, #0x2000
    ldr r1, [r3]
    str r0, [r1, #8]
    %s
    str r1, [r3]
    ldr r0, [r1, #8]
    ldmia r0!, {r4, r5}
    msr psp, r0
    bx lr
"""
WORK, AT, SWITCH = CODE, CODE + 4, CODE + 10
PENDSV = 14
ROUND = "ldr r1, [r1, #4]"
CURRENT, FIRST, SECOND, THIRD = RAM + 0x700, RAM + 0x720, RAM + 0x740, RAM + 0x760
NEXT = {FIRST: SECOND, SECOND: THIRD, THIRD: FIRST}
TOPS = {FIRST: RAM + 0x200, SECOND: RAM + 0x3C0, THIRD: RAM + 0x600}
# Each is left behind its first instruction; the first one, which goes on at the end, has been left once.
HANDLER: List[Item] = [SWITCH + at for at in (0, 4, 8, 12, 16, 18, 20, 22, 24, 26, 28, 32)]
RUN: List[Item] = [AT, AT + 2, WORK, Taken(PENDSV, AT)]
TO_NEXT: List[Item] = [*HANDLER, Returned()]
ITEMS: List[Item] = [*RUN, *TO_NEXT, *RUN, *TO_NEXT, *RUN, *TO_NEXT, AT, AT + 2, WORK]
# Where the other two go on, and where the first does again.
SECONDS, THIRDS, LAST = 17, 32, 46


def waiting(block: int, r4: int) -> Dict[int, int]:
    """What memory holds of a thread that waits."""
    top = TOPS[block]
    return {block + 8: top - 40, top - 40: r4, top - 36: 3, **frame(top - 32, AT)}


def memory(following: Mapping[int, int] = {**NEXT}) -> Dict[int, int]:
    """Return the memory at the end; popped words are still there."""
    links = {block + 4: after for block, after in following.items()}
    return {CURRENT: FIRST, **links, **waiting(FIRST, 11), **waiting(SECOND, 22), **waiting(THIRD, 33)}


def recovered(held: Mapping[int, int], chooses: str = ROUND, does: str = "nop", **registers: int) -> Recovery:
    """Recover the run from its end."""
    pointers = {"sp": TOPS[FIRST], "psp": TOPS[FIRST], "msp": RAM + 0x800, "control": 2, "xpsr": 0x21000000}
    return _of(ITEMS, AT, held, {**pointers, **registers}, SOURCE % (does, chooses))


def _of(items: List[Item], end: int, held: Mapping[int, int], registers: Mapping[str, int], source: str) -> Recovery:
    def read(address: int, size: int) -> Optional[bytes]:
        return held.get(address, 0).to_bytes(4, "little")[:size]

    history = history_of(built(source), items, end)
    history.source = history.source._replace(core=Core("cpu_0", "Cortex-M4", {}))
    state = CoreState({"r4": 12, "r5": 3, **registers}, read)
    return Recovery(history, state, rules=Rules(stacks=((RAM, RAM + 0x800),)))


def test_twins_are_told_apart_by_their_blocks() -> None:
    recovery = recovered(memory())
    assert len(recovery.history) == LAST + 2
    # The first thread was left with what it went on with, the others with what was saved of them.
    assert recovery.register(3, "r4")[:2] == (10, Tier.ASSUMED)
    assert recovery.register(4, "r4")[:2] == (11, Tier.ASSUMED)
    assert recovery.register(SECONDS, "r4")[:2] == (21, Tier.ASSUMED)
    assert recovery.register(THIRDS, "r4")[:2] == (32, Tier.ASSUMED)
    assert recovery.register(LAST, "r4")[:2] == (11, Tier.EXACT)
    assert [recovery.register(one, "sp").value for one in (3, SECONDS, THIRDS)] == list(TOPS.values())
    assert not recovery.findings


@pytest.mark.parametrize("count, current", [(7, FIRST), (8, SECOND)])
def test_nor_does_a_handler_refute_them_that_runs_at_the_end(count: int, current: int) -> None:
    # It is halted before it writes the pointer to the running thread's block, or behind that.
    held = {**memory(), **waiting(FIRST, 12), CURRENT: current}
    pointers = {"sp": RAM + 0x800, "msp": RAM + 0x800, "psp": TOPS[FIRST] - 32, "lr": 0xFFFFFFFD}
    registers = {"r0": TOPS[FIRST] - 40, "r1": SECOND, "r3": CURRENT, "control": 0, "xpsr": 0x2100000E}
    items = [*ITEMS, Taken(PENDSV, AT), *HANDLER[:count]]
    recovery = _of(items, SWITCH + 8 + 2 * count, held, {**pointers, **registers}, SOURCE % ("nop", ROUND))
    assert [recovery.register(one, "r4").value for one in (3, SECONDS, THIRDS, LAST)] == [10, 21, 32, 11]
    assert [recovery.register(one, "sp").value for one in (3, SECONDS, THIRDS)] == list(TOPS.values())
    assert not recovery.findings


def test_why_a_block_is_known() -> None:
    recovery = recovered(memory())
    number = 3 + 8
    value = recovery.register(number, "r1")
    assert value[:2] == (SECOND, Tier.ASSUMED)
    assert value.reason == "the scheduler went from block to block as RAM at the halt links them"


def test_the_next_thread_is_chosen_elsewhere() -> None:
    # Nobody writes which is next, so the same one went on each time.
    recovery = recovered({**memory(), CURRENT + 4: FIRST}, "ldr r1, [r3, #4]")
    assert recovery.register(3, "r4").value is None
    assert [recovery.register(number, "r4").value for number in (SECONDS, THIRDS, LAST)] == [9, 10, 11]
    assert not recovery.findings


def test_two_blocks_lead_to_the_same() -> None:
    # Only the second one was led to; either of the two others may have been before the first one.
    recovery = recovered(memory({**NEXT, SECOND: FIRST}))
    assert [recovery.register(number, "r4").value for number in (SECONDS, THIRDS)] == [10, 21]
    assert recovery.register(3, "r4").value is None


def test_blocks_that_lead_nowhere_tell_nothing() -> None:
    assert recovered(memory({THIRD: FIRST})).register(SECONDS, "r4").value is None


@pytest.mark.parametrize("member, known", [(4, None), (16, 10)])
def test_what_was_before_somebody_wrote_a_link_is_not_told(member: int, known: Optional[int]) -> None:
    # All threads write what is there already, the last one at an address that is known.
    held = {**memory(), THIRD + 16: FIRST, **{top - 36: THIRD for top in TOPS.values()}}
    recovery = recovered(held, does="str r6, [r5, #%d]" % member, r5=THIRD, r6=FIRST)
    assert recovery.register(LAST, "r5").value == THIRD
    assert recovery.register(3, "r4").value == known
    assert not recovery.findings


def test_a_scheduler_that_is_deceived_is_a_finding() -> None:
    # Somebody has changed what was saved of the first thread: it has set r5 to something else.
    recovery = recovered({**memory(), TOPS[FIRST] - 36: 9}, does="movs r5, #3")
    assert recovery.register(4, "r5")[:2] == (3, Tier.EXACT)
    assert recovery.register(LAST, "r5")[:2] == (9, Tier.EXACT)
    assert recovery.register(3, "r4").value is recovery.register(SECONDS, "r4").value is None
    told = "the scheduler's blocks do not show which threads ran up to #33"
    assert told in [one.text for one in recovery.findings]


RTOS = """
    b end
    mrs r0, psp
    isb
    ldr r3, pointer
    ldr r2, [r3]
    stmdb r0!, {r4-r11, r14}
    str r0, [r2]
    stmdb sp!, {r0, r3}
    bl choose
    ldmia sp!, {r0, r3}
    ldr r1, [r3]
    ldr r0, [r1]
    ldmia r0!, {r4-r11, r14}
    msr psp, r0
    bx r14
choose:
    push {r7, lr}
    ldr r3, pointer
    ldr r2, [r3]
    ldr r2, [r2, #8]
    ldr r2, [r2, #12]
    str r2, [r3]
    pop {r7, pc}
    .align 2
pointer:
    .word 0x20000700
"""


BEGINNING, CHOICE, REST = (0x02, 0x1C), (0x2C, 0x3A), (0x1C, 0x2C)


def _handled(*ranges: Tuple[int, int], source: str = RTOS) -> Tuple[ContextSwitches, List[Part]]:
    # What a scheduler of a usual form does, and what works it out.
    history: ExecutionHistory = history_of(built(source), [CODE])
    line = TraceSsa(Rules(), history.program)
    templates = Templates(history.program, True)
    parts: List[Part] = [templates.of_range(CODE + start, CODE + end, Isa.T32, 0)[0] for start, end in ranges]
    return ContextSwitches(lambda address: line.read_constant(address, 4)), parts


def _is_whole(switch: Optional[Switch]) -> bool:
    # Whether it finds the new block through a word of the old one, and one of what that points to.
    read: List[int] = []
    words = {FIRST + 8: RAM + 0x80, RAM + 0x8C: SECOND}
    assert switch is not None
    assert switch.follow(FIRST, words.get, read) == SECOND
    assert switch.follow(THIRD, words.get, read) is None
    assert read[:2] == [FIRST + 8, RAM + 0x8C]
    return switch[:4] == (CURRENT, 0, 36, 36)


def test_what_a_handler_does() -> None:
    switches, parts = _handled(BEGINNING, CHOICE, REST)
    assert _is_whole(switches.of(parts, True))
    # It stores PSP, loads a word of the old block and one of what that points to, and loads PSP.
    switch = switches.of(parts, True)
    assert switch is not None
    assert [place.before_last for place, _ in switch.accesses] == [15, 9, 8, 3]
    assert switches.of(parts, True) is switch


def test_a_handler_that_is_interrupted_or_chained() -> None:
    switches, parts = _handled(BEGINNING, CHOICE, REST)
    _, other = _handled(CHOICE)
    # The other one changes r2, r3 and r7; what it stores is the old pointer's own business.
    between: List[Part] = [ENTERED, *_handled((0x2C, 0x32))[1], LEFT]
    assert _is_whole(switches.of([parts[0], *between, *parts[1:]], True))
    assert _is_whole(switches.of([other[0][:2] if not isinstance(other[0], int) else [], CHAINED, *parts], True))


def test_a_handler_that_has_not_ended() -> None:
    switches, parts = _handled(BEGINNING, CHOICE, REST)
    assert _is_whole(switches.of(parts[:2], False))
    begun = switches.of(parts[:1], False)
    assert begun is not None and begun.follow(FIRST, {}.get, []) == FIRST
    assert switches.of(parts[:2], True) is None


# What a handler saves and loads of s16 to s31 depends on EXC_RETURN, the old one and the new one.
_EITHER = "    tst r14, #16\n    it eq\n    %s r0!, {s16-s31}\n"
FLOATING = ".fpu fpv5-sp-d16\n" + RTOS.replace(
    "    stmdb r0!, {r4", _EITHER % "vstmdbeq" + "    stmdb r0!, {r4"
).replace("    msr psp, r0", _EITHER % "vldmiaeq" + "    msr control, r14\n    msr psp, r0")


def test_a_handler_that_saves_floating_point_registers() -> None:
    switches, parts = _handled((0x02, 0x26), (0x44, 0x52), (0x26, 0x44), source=FLOATING)
    switch = switches.of(parts, True)
    assert switch is not None and switch.follow(FIRST, {FIRST + 8: RAM + 0x80, RAM + 0x8C: SECOND}.get, []) == SECOND
    assert switch[:4] == (CURRENT, 0, 36, 100)


def test_when_a_handler_has_written_the_pointer() -> None:
    switches, parts = _handled(BEGINNING, CHOICE, (0x1C, 0x20))
    assert [switches.keeps(parts[:count], CURRENT) for count in range(1, 4)] == [True, False, False]
    assert switches.keeps(parts, CURRENT + 4)


# A store through another pointer may change the word where the new block's address was, which is loaded again.
RELOADING = RTOS.replace(
    "    ldr r2, [r2, #8]\n    ldr r2, [r2, #12]",
    "    mov r4, r2\n    ldr r2, [r4, #8]\n    %s\n    ldr r5, [r4, #8]\n    ldr r5, [r5, #4]",
)


@pytest.mark.parametrize("store, accesses", [("str r6, [r6]", [18, 11, 9, 3]), ("str r6, [r4]", [18, 11, 10, 9, 8, 3])])
def test_what_a_handler_loads_again(store: str, accesses: List[int]) -> None:
    switches, parts = _handled(BEGINNING, (0x2C, 0x40), REST, source=RELOADING % store)
    switch = switches.of(parts, True)
    assert switch is not None and switch.follow(FIRST, {FIRST + 8: SECOND}.get, []) == SECOND
    assert [place.before_last for place, _ in switch.accesses] == accesses


def test_a_handler_that_saves_nothing() -> None:
    switches, parts = _handled(CHOICE, REST)
    assert switches.of(parts, True) is None


def _round(steps: int) -> Switch:
    # A handler that goes so many blocks further.
    loads = (None, None, (0, CURRENT)) + tuple([(2 + index, 4) for index in range(steps)])
    return Switch(CURRENT, 8, 36, 36, (2 + steps, 0), 2, loads, ())


def _random_schedule(chance: random.Random) -> Tuple[List[Period], List[int], Dict[int, int], Dict[int, List[int]]]:
    # Periods, the blocks in truth, memory at the end, and where frames are by return address.
    count = chance.randrange(2, 7)
    blocks = chance.sample(range(RAM + 0x1000, RAM + 0x2000, 0x20), count)
    at = {block: chance.choice((0x10, 0x20)) for block in blocks}
    places = [chance.choice((0x10, 0x20, 0x30)) for _ in range(3)]
    truth = [chance.choice(blocks)]
    periods: List[Period] = []
    for _ in range(chance.randrange(1, 30)):
        steps = chance.randrange(1, count + 1)
        left = chance.choice(places)
        periods.append(Period(at[truth[-1]], left, _round(steps)))
        at[truth[-1]] = left
        truth.append(blocks[(blocks.index(truth[-1]) + steps) % count])
    periods.append(Period(at[truth[-1]], None, None))
    words = {block + 4: blocks[(number + 1) % count] for number, block in enumerate(blocks)}
    words[CURRENT] = truth[-1]
    frames: Dict[int, List[int]] = {}
    for number, block in enumerate(blocks):
        words[block + 8] = RAM + 0x100 * number
        if block != truth[-1]:
            frames.setdefault(at[block], []).append(RAM + 0x100 * number + 36)
    # Other words that point to saved registers, or to frames.
    for address in range(RAM + 0x2000, RAM + 0x2040, 4):
        words[address] = RAM + 0x100 * chance.randrange(count)
    return periods, truth, words, frames


def _reader(words: Mapping[int, int]) -> Word:
    return lambda address: words.get(address, 0)


def test_random_schedules() -> None:
    chance = random.Random(5)
    known = total = 0
    for _ in range(400):
        periods, truth, words, frames = _random_schedule(chance)
        pieces = ((RAM + 0x1000, RAM + 0x2040),)
        word = _reader(words)
        decided = decide(periods, word, lambda at: frames.get(at, []), Pointers(pieces, word), lambda pointer: True)
        told = decided.blocks if decided is not NOTHING else (None,) * len(truth)
        assert all(one in (None, true) for one, true in zip(told, truth))
        known += sum(one is not None for one in told)
        total += len(truth)
    assert known > 0.95 * total


@pytest.mark.parametrize("program", ["twins-O0", "twins-Os", "twins-O2"])
def test_twins(program: str, tmp_path: Path) -> None:
    found = in_mid_run(program, tmp_path)
    assert not found.wrong
    assert found.sp.percent(Tier.ASSUMED) > 99
    assert found.live.percent(Tier.ASSUMED) > 60
