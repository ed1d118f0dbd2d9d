"""The board's truth: recovered values are right, and enough."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Dict, Iterator, List, Tuple

import pytest

from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import CoreState, Fact, Tier, no_memory
from tests.firmware.recovery.build import DEEP, KEEPING, LEVELS, PROGRAMS, SMASHING, board_of, elf
from tests.history.executed import Taken, history_of
from tests.recovery.score import NAMES, Score, Uses, mean, recover, score
from tests.recovery.truth import Run, prepare, prepare_a9

HALT, WINDOW, SEEDED = 20001, 4000, 2500
A9_RAM = ((0x20000000, 0x20080000),)
FLAGS = (("n", 31), ("z", 30), ("c", 29), ("v", 28))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@lru_cache(maxsize=None)
def run_of(program: str, folder: Path) -> Run:
    """Run a program to mid run; take its RAM somewhat earlier."""
    board = board_of(program)
    return Run(prepare(program, folder, HALT, board, begin=HALT - SEEDED), program, board)


def recovered(run: Run, window: int) -> Tuple[Score, Recovery]:
    """Recover the last instructions of a run, at both tiers."""
    first, recovery = recover(run, window)
    return score(run, Uses(run), first, recovery), recovery


@lru_cache(maxsize=None)
def score_of(program: str, folder: Path) -> Score:
    """Hold what is recovered of a run against the truth."""
    return recovered(run_of(program, folder), WINDOW)[0]


@pytest.mark.sweep
@pytest.mark.parametrize("program", PROGRAMS)
def test_nothing_exact_is_wrong(program: str, folder: Path) -> None:
    found = score_of(program, folder)
    assert not [one for one in found.wrong if one.tier is Tier.EXACT]
    assert found.instants.known[Tier.EXACT] > 1000


@pytest.mark.parametrize("program", [one for one in PROGRAMS if one.startswith(KEEPING)])
def test_nothing_assumed_is_wrong_where_the_convention_is_kept(program: str, folder: Path) -> None:
    assert not [one for one in score_of(program, folder).wrong if one.tier is Tier.ASSUMED]


@pytest.mark.sweep
@pytest.mark.parametrize("program", ["%s-%s" % (name, LEVELS[at % 3]) for at, name in enumerate(DEEP)])
def test_nor_where_it_halts_deep_in_calls_or_in_a_handler(program: str, folder: Path) -> None:
    board = board_of(program)
    found, recovery = recovered(Run(prepare(program, folder, HALT, board, deep=True), program, board), SEEDED)
    worst = Tier.ASSUMED if program.startswith(KEEPING) else Tier.EXACT
    assert not [one for one in found.wrong if one.tier <= worst]
    assert not [one for one in recovery.findings if one.tier is Tier.EXACT]


# What must be known, in percent, mean over the programs that keep the calling convention, but for those whose kernels
# do what few do: see tests/recovery/test_threads.py.
ORDINARY = tuple(name for name in KEEPING if name not in ("requests", "fibers", "mainstack"))
FLOORS: Dict[Tuple[str, Tier], float] = {
    ("instants", Tier.EXACT): 58,
    ("live", Tier.EXACT): 48,
    ("definitions", Tier.EXACT): 48,
    ("instants", Tier.ASSUMED): 84,
    ("live", Tier.ASSUMED): 83,
    ("definitions", Tier.ASSUMED): 73,
    ("sp", Tier.ASSUMED): 99,
    ("lr", Tier.ASSUMED): 94,
}


@pytest.mark.parametrize("what, tier", FLOORS, ids=lambda value: str(value).lower())
def test_enough_is_known(what: str, tier: Tier, folder: Path) -> None:
    scores = [score_of(program, folder) for program in PROGRAMS if program.startswith(ORDINARY)]
    assert mean(scores, what, tier) >= FLOORS[what, tier]


@pytest.mark.sweep
@pytest.mark.parametrize("program", [one for one in PROGRAMS if one.startswith(KEEPING)])
def test_from_when_the_run_began_only_inputs_stay_unknown(program: str, folder: Path) -> None:
    run = run_of(program, folder)
    recovery = Recovery(run.history(run.begun), run.end(), run.begin(), Rules(limit=Tier.EXACT))
    found = score(run, Uses(run), run.begun, recovery)
    assert not found.wrong
    assert recovery.findings == ()
    has_inputs = program.startswith(("frames", "control", "kernel", "text", "fibers", "mainstack"))
    assert found.live.percent(Tier.EXACT) > (50 if has_inputs else 95)
    assert found.sp.percent(Tier.EXACT) > 99


def seeds(run: Run, first: int) -> Iterator[Fact]:
    """Return each register's true value wherever it may be written."""
    uses = Uses(run)
    m_profile = run.core != "Cortex-A9"
    special = ("msp", "psp", "control") if m_profile else ()
    changed = run.changes((*NAMES, *special, "fpscr", *("s%d" % number for number in range(32))))
    written = frozenset((*NAMES, *special))
    for index in range(first, len(run) + 1):
        number = index - first + 1
        flags = run.value("xpsr" if m_profile else "cpsr", index)
        names = written | changed.get(index, frozenset())
        if m_profile:
            # Of the two stack pointers a recovery knows by their names, one is r13 at the time.
            process = run.value("control", index) & 2 and not flags & 0x1FF
            names -= {"psp" if process else "msp"}
        for name in names:
            yield Fact(number, name, run.value(name, index))
        for name, bit in FLAGS:
            yield Fact(number, name, flags >> bit & 1)
        if index < len(run):
            place = run.places[index]
            address = run.items[place]
            assert isinstance(address, int)
            written = uses.at(address)[1]
            if place + 1 < len(run.items) and not isinstance(run.items[place + 1], int):
                written = frozenset(NAMES)


def contradictions(run: Run, first: int, facts: List[Fact]) -> List[str]:
    """Return what does not go together with facts."""
    rules = Rules(limit=Tier.EXACT, window=len(run))
    recovery = Recovery(run.history(first), run.end(), rules=rules, facts=facts)
    recovery.solve()
    return [one.text for one in recovery.findings]


@pytest.mark.sweep
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_register_with_its_true_value_contradicts_nothing(program: str, folder: Path) -> None:
    run = run_of(program, folder)
    first = run.start(SEEDED)
    assert contradictions(run, first, list(seeds(run, first))) == []


@pytest.mark.parametrize("program", ["sort-a32", "steps-a32", "tables-a32", "sort-t32"])
def test_nor_on_a_cortex_a9(program: str, folder: Path) -> None:
    run = Run(prepare_a9(program, folder, HALT), program, "a9")
    first = run.start(SEEDED)
    assert len(run) - first > 500
    assert contradictions(run, first, list(seeds(run, first))) == []
    recovery = Recovery(run.history(first), run.end(), rules=Rules(ram=A9_RAM))
    found = score(run, Uses(run), first, recovery)
    assert not found.wrong
    assert found.instants.percent(Tier.EXACT) > 30


@pytest.mark.parametrize("program", ["frames-O2", "kernel-Os", "floats-O0"])
def test_a_wrong_value_does(program: str, folder: Path) -> None:
    run = run_of(program, folder)
    first = run.start(SEEDED)
    facts = list(seeds(run, first))
    at = next(index for index in range(len(facts) // 2, len(facts)) if facts[index].name == "z")
    facts[at] = facts[at]._replace(value=1 - facts[at].value)
    registers = [index for index, fact in enumerate(facts) if fact.name == "r3" and index > len(facts) // 3]
    facts[registers[0]] = facts[registers[0]]._replace(value=facts[registers[0]].value ^ 0x40)
    assert contradictions(run, first, facts)


def test_a_halt_at_the_first_instruction_of_a_handler(folder: Path) -> None:
    run = run_of("interrupts-Os", folder)
    entry = max(place for place, item in enumerate(run.items) if isinstance(item, Taken))
    count = sum(1 for place in run.places if place < entry)
    items = run.items[run.places[count - 500] : entry + 1]
    history = history_of(elf(run.program), items, halted_at=run.items[run.places[count]])
    history.source = run.history(count).source
    registers = {name: run.value(name, count) for name in (*NAMES, "xpsr", "msp", "psp", "control")}
    handler = run.items[run.places[count]]
    assert isinstance(handler, int)
    registers["pc"] = handler
    recovery = Recovery(history, CoreState(registers, no_memory))
    recovery.solve()
    assert recovery.findings == ()
    assert recovery.register(501, "lr").value == run.value("lr", count)
    # What was pushed is in the memory that is not known; what a handler finds is what was there.
    assert recovery.register(500, "r7").value == run.value("r7", count - 1)


def test_programs_are_of_both_kinds() -> None:
    assert {program.partition("-")[0] for program in PROGRAMS} == {*KEEPING, *SMASHING}
