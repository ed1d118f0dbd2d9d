"""Worked by hand, and the board's truth: contradicting facts."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Dict, List, Optional, Union

import pytest

from gdb_etm.capture import Core
from gdb_etm.program.image import Program
from gdb_etm.recovery.constraints.constraints import ConstraintKind
from gdb_etm.recovery.constraints.domain import Contradiction
from gdb_etm.recovery.constraints.graph import INPUT
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.solve.doubts import Doubts
from gdb_etm.recovery.solve.propagation import PROPAGATORS
from gdb_etm.recovery.ssa.trace_ssa import TraceSsa
from gdb_etm.recovery.values import CoreState, Fact, Tier
from tests.firmware.recovery.build import board_of
from tests.history.executed import history_of
from tests.recovery.score import Score, Uses, recover, score
from tests.recovery.small import CODE, RAM, STACK, Ran, built, run
from tests.recovery.test_exceptions import LEAVE, REGISTERS, SOURCE, TOP
from tests.recovery.test_exceptions import run as interrupted
from tests.recovery.truth import Run, prepare

HALT, WINDOW = 20001, 2500
PROGRAMS = ("frames-O0", "control-Os", "kernel-O2", "text-Os")
LINKED = """
    movs r0, #5
    str r0, [r1]
    movs r0, #0
    ldr r2, [r1]
    cmp r2, #5
    bne end
    movs r3, #1
"""


def findings(recovery: Recovery) -> List[str]:
    """What is told of exact facts."""
    recovery.solve()
    return [one.text for one in recovery.findings if one.tier is Tier.EXACT]


def disturbed(ran: Ran, words: Optional[Dict[int, int]] = None, **registers: int) -> CoreState:
    """The state at the end with something false in it."""

    def read(address: int, size: int) -> Optional[bytes]:
        found = ran.end.read(address, size)
        for at, word in (words or {}).items() if found is not None else ():
            if address <= at < address + size:
                found = found[: at - address] + word.to_bytes(4, "little") + found[at - address + 4 :]
        return found

    return CoreState({**ran.end.registers, **registers}, read)


def test_a_word_that_nobody_has_left_there() -> None:
    ran = run(LINKED, {"r1": RAM + 64})
    recovery = Recovery(ran.history, disturbed(ran, {RAM + 64: 7}))
    # That r1 points there is trusted no more than what is there.
    both = "r1 as it was read at the halt and the word at %#x as it was read at the halt" % (RAM + 64)
    assert findings(recovery) == [both + " contradict what else is known and are not used"]
    assert recovery.register(2, "r1").value is None
    assert recovery.register(5, "r2")[:2] == (5, Tier.EXACT)
    assert recovery.memory(3, RAM + 64, 1)[0].value is None


def test_nothing_exact_rests_on_any_of_them() -> None:
    # SP is trusted more than what is there, but not so much that anything exact rests on it.
    ran = run(LINKED.replace("[r1]", "[sp, #8]"))
    end = disturbed(ran, {STACK + 8: 7})
    exact = Recovery(ran.history, end, rules=Rules(limit=Tier.EXACT))
    assert "sp as it was read at the halt" in findings(exact)[0]
    assert exact.register(2, "sp").value is None
    assert exact.register(2, "r0")[:2] == (5, Tier.EXACT)
    assumed = Recovery(ran.history, end)
    text = "the word at %#x as it was read at the halt contradicts what else is known and is not used" % (STACK + 8)
    assert findings(assumed) == [text]
    assert assumed.register(2, "sp")[:2] == (STACK, Tier.ASSUMED)


def test_what_was_told_of_a_register_in_between() -> None:
    ran = run(" movs r0, #1\n adds r0, r0, r4\n adds r5, r0, #1\n", {"r4": 5})
    recovery = Recovery(ran.history, ran.end, facts=[Fact(3, "r0", 9)])
    told = "r0 as it was read at the halt before #3 contradicts what else is known and is not used"
    assert findings(recovery) == [told]
    assert recovery.register(3, "r0").value == 6
    assert recovery.register(2, "r0")[:2] == (1, Tier.EXACT)


def test_a_frame_that_leads_elsewhere_than_the_program_went() -> None:
    frame = TOP - 32

    words = [6, 1, 2, 3, 12, 0x77, CODE + 0x40, 0x01000000]

    def read(address: int, size: int) -> Optional[bytes]:
        return words[(address - frame) >> 2].to_bytes(4, "little") if frame <= address < TOP else None

    history = history_of(built(SOURCE), interrupted(LEAVE), CODE + 6)
    history.source = history.source._replace(core=Core("cpu_0", "Cortex-M4", {}))
    registers = dict(REGISTERS, r0=6, r1=1, r2=2, r3=3, r12=12)
    recovery = Recovery(history, CoreState(registers, read))
    (text,) = findings(recovery)
    assert "the word at %#x as it was read at the halt" % (frame + 24) in text
    assert recovery.register(2, "r3")[:2] == (3, Tier.EXACT)
    assert recovery.register(5, "r0")[:2] == (9, Tier.EXACT)
    recovery = Recovery(history, CoreState(dict(registers, sp=TOP + 64, msp=TOP + 64), read))
    assert not findings(recovery)


def doubts_of(doubts: Doubts) -> Doubts:
    """Return the doubts if two relations give different values."""
    line = TraceSsa(Rules(), Program(()))
    doubts.withhold(line)
    line.number = 3
    variable = line.new(INPUT)
    for value in (1, 2):
        line.relate((ConstraintKind.EQUAL, line.constant(value), variable))
    try:
        for line.domain.cause, relation in enumerate(line.constraints):
            PROPAGATORS[relation[0]](line.domain, relation)
    except Contradiction as contradiction:
        return doubts.more(line, contradiction)
    return doubts


def test_where_no_facts_are_to_blame_an_instruction_is() -> None:
    doubts = doubts_of(Doubts())
    assert doubts == Doubts(void=frozenset({3}))
    assert doubts_of(doubts) == doubts


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


def false(end: CoreState, what: Union[str, int], bit: int) -> CoreState:
    """A state with one wrong bit in a register or word."""
    if isinstance(what, str):
        return end._replace(registers={**end.registers, what: end.registers[what] ^ bit})

    def read(address: int, size: int) -> Optional[bytes]:
        found = end.read(address, size)
        if found is None or not address <= what < address + size:
            return found
        word = int.from_bytes(found, "little") ^ bit << 8 * (what - address)
        return (word & (1 << 8 * size) - 1).to_bytes(size, "little")

    return end._replace(read=read)


def solved(ran: Run, end: CoreState) -> Recovery:
    """Recover the last instructions of a run from an end."""
    return recover(ran, WINDOW, end)[1]


def scored(ran: Run, recovery: Recovery) -> Score:
    """Hold it against the truth."""
    return score(ran, Uses(ran), ran.start(WINDOW), recovery)


@pytest.mark.sweep
@pytest.mark.parametrize("program", PROGRAMS)
def test_one_false_fact_leaves_the_others(program: str, folder: Path) -> None:
    board = board_of(program)
    ran = Run(prepare(program, folder, HALT, board), program, board)
    plain = scored(ran, solved(ran, ran.end()))
    chance = random.Random(program)
    touched = sorted({word for word in range(0x20000000, 0x20001000, 4) if ran.read(word, 4) != bytes(4)})
    facts: List[Union[str, int]] = ["sp", *chance.sample(["r%d" % number for number in range(8)], 4)]
    facts += chance.sample(touched, 4)
    told = 0
    for what in facts:
        recovery = solved(ran, false(ran.end(), what, 1 << chance.randrange(3, 12)))
        if not findings(recovery):
            # Nothing contradicts it, so it is believed.
            continue
        told += 1
        found = scored(ran, recovery)
        assert not found.wrong, what
        assert found.instants.percent(Tier.ASSUMED) > 0.9 * plain.instants.percent(Tier.ASSUMED), what
    assert told >= 2
