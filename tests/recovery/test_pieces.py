"""The board's truth: histories in pieces, and at once."""

from __future__ import annotations

import gc
from functools import lru_cache
from pathlib import Path
from typing import List

import pytest

from gdb_etm.program.cfi import load_frames
from gdb_etm.program.objects import load_objects
from gdb_etm.program.ram import load_writable
from gdb_etm.protocols.garbage import garbage_uncollected
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import Tier, Touched
from tests.firmware.recovery.build import KEEPING, SMASHING, board_of
from tests.recovery.score import NAMES, Score, Uses, score
from tests.recovery.small import DEVICE, RAM, run
from tests.recovery.truth import Run, prepare

# Instructions that run, that are recovered, and that are worked out at once.
HALT, ALL, PIECE = 20001, 16000, 5000
LONG = 70001
X, Y, P = RAM + 0x40, RAM + 0x80, RAM + 0xC0
CHOSEN = ["%s-%s" % (name, "O0 Os O2".split()[at % 3]) for at, name in enumerate((*KEEPING, *SMASHING)) if at % 2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@lru_cache(maxsize=None)
def run_of(program: str, folder: Path, halt: int = HALT) -> Run:
    board = board_of(program)
    return Run(prepare(program, folder, halt, board), program, board)


def recovery_of(found: Run, size: int, window: int) -> Recovery:
    stacks = tuple(load_writable(found.elf))
    rules = Rules(window=window, frames=load_frames([found.elf]), objects=load_objects([found.elf]), stacks=stacks)
    return Recovery(found.history(found.start(size)), found.end(), rules=rules)


def score_of(found: Run, size: int, window: int) -> Score:
    return score(found, Uses(found), found.start(size), recovery_of(found, size, window))


@pytest.mark.sweep
@pytest.mark.parametrize("program", CHOSEN)
def test_nothing_is_wrong_in_older_pieces(program: str, folder: Path) -> None:
    found = score_of(run_of(program, folder), ALL, PIECE)
    assert found.wrong == ()
    newest = score_of(run_of(program, folder), PIECE, PIECE + 4)
    assert found.instants.known[Tier.ASSUMED] > newest.instants.known[Tier.ASSUMED]


@pytest.mark.sweep
@pytest.mark.parametrize("program, least", [("kernel-O2", 99), ("kernel-O0", 70)])
def test_threads_are_followed_into_older_pieces(program: str, least: int, folder: Path) -> None:
    found = score_of(run_of(program, folder), ALL, PIECE)
    assert found.wrong == ()
    assert found.sp.percent(Tier.ASSUMED) > least


@pytest.mark.parametrize("program", ["text-O2"])
def test_nor_of_a_history_longer_than_a_piece_of_the_usual_size(program: str, folder: Path) -> None:
    long = run_of(program, folder, LONG)
    found = score_of(long, LONG, Rules().window)
    assert found.instants.count > 13 * Rules().window
    assert found.wrong == ()
    newest = score_of(long, Rules().window, Rules().window)
    assert found.instants.known[Tier.ASSUMED] > 1.1 * newest.instants.known[Tier.ASSUMED]


@pytest.mark.sweep
@pytest.mark.parametrize("program", ["frames-O2", "text-O2", "digest-O0"])
def test_memory_is_what_it_is_when_all_is_worked_out_at_once(program: str, folder: Path) -> None:
    found = run_of(program, folder)
    whole, parts = recovery_of(found, ALL, 2 * ALL), recovery_of(found, ALL, PIECE)
    compared = 0
    for low, high in load_writable(found.elf):
        for number in range(ALL, 1, -ALL // 16):
            for address in range(low, min(high, low + 0x800), 8):
                one, other = whole.memory(number, address, 4), parts.memory(number, address, 4)
                both = [pair for pair in zip(one, other) if None not in (pair[0].value, pair[1].value)]
                assert all(pair[0].value == pair[1].value for pair in both)
                compared += len(both)
    assert compared > 500


def test_a_piece_that_was_dropped_is_worked_out_again(folder: Path) -> None:
    recovery = recovery_of(run_of("text-O2", folder), ALL, ALL // 8)
    before = [recovery.register(number, name) for number in range(ALL, 0, -997) for name in NAMES]
    assert recovery.pending(ALL) > 0 == recovery.pending(1)
    assert [recovery.register(number, name) for number in range(ALL, 0, -997) for name in NAMES] == before


STORES = " ldr r1, =0x%x\n ldr r2, =0x%x\n movs r0, #1\n" % (X, Y)
STORES += " str r0, [r1]\n b 1f\n1:\n adds r0, #1\n str r0, [r2]\n ldr r3, [r1]\n b 1f\n1:\n adds r0, #1\n" * 8

LOST = " ldr r5, =0x%x\n ldr r6, [r5]\n strb r0, [r6]\n ldrb r3, [r6]\n movs r6, #0\n b 1f\n1:\n" % DEVICE


def test_stores_are_found_in_all_pieces() -> None:
    ran = run(STORES)
    whole, parts = ran.recovery(), ran.recovery(Rules(window=12))
    assert len(whole.writes(X, 4).writes) == 8
    found, wanted = parts.writes(X, 4).writes, whole.writes(X, 4).writes
    assert [one._replace(value=None) for one in found] == [one._replace(value=None) for one in wanted]
    assert [one.value.value for one in found] == [one.value.value for one in wanted]
    assert parts.writes(X, 4).first == 1


def test_enough_stores_end_the_search() -> None:
    recovery = run(STORES).recovery(Rules(window=12))
    found = recovery.writes(X, 4, enough=1)
    assert found.writes and found.first > 1 and recovery.pending(1) > 0


def test_stores_of_unknown_address_are_counted_across_pieces() -> None:
    ran = run(STORES + LOST * 4, ram={DEVICE: P})
    whole, parts = ran.recovery().writes(X, 4), ran.recovery(Rules(window=9)).writes(X, 4)
    assert [one.unknown_after for one in whole.writes] == [4] + [0] * 7
    assert [one.unknown_after for one in parts.writes] == [4] + [0] * 7


def touched(recovery: Recovery, kind: int, address: int) -> List[Touched]:
    found = []
    number = len(recovery.history)
    while number >= 1:
        one = recovery.touched(number, kind, address, 4)
        assert one.first <= number <= one.last
        found.append(one)
        number = one.first - 1
    return found


@pytest.mark.parametrize("kind, count", [(2, 8), (3, 8), (4, 16)])
def test_accesses_are_found_in_all_pieces(kind: int, count: int) -> None:
    ran = run(STORES)
    (whole,) = touched(ran.recovery(), kind, X)
    parts = touched(ran.recovery(Rules(window=12)), kind, X)
    assert len(whole.numbers) == count and len(parts) > 2
    assert sorted(number for part in parts for number in part.numbers) == list(whole.numbers)


def test_what_may_have_been_accessed_is_told_apart() -> None:
    ran = run(STORES + LOST, ram={DEVICE: P})
    last = len(ran.history)
    assert [ran.recovery().touched(last, kind, X, 4) for kind in (2, 3)] == [
        Touched(1, last, tuple(range(4, 60, 7)), (last - 3,)),
        Touched(1, last, tuple(range(8, 60, 7)), (last - 2,)),
    ]


@pytest.mark.sweep
@pytest.mark.parametrize("is_alone", [False, True], ids=["pieces", "neighbourhoods"])
def test_what_is_not_kept_takes_no_memory(is_alone: bool, folder: Path) -> None:
    recovery = recovery_of(run_of("text-O2", folder), ALL, 2 * ALL if is_alone else 1000)
    counts = []
    gc.collect()
    # Without garbage collection, as in the background.
    with garbage_uncollected():
        for number in range(ALL - 1000, ALL - 13000, -1000):
            values = recovery.near(number, 300) if is_alone else recovery
            values.register(number, "r0")
            counts.append(len(gc.get_objects()))
    # Of what is compiled, the garbage is found once a piece falls away.
    assert counts[-1] - counts[5] < counts[2] - counts[0]


def test_nothing_is_asked_of_what_lies_before_the_limit() -> None:
    ran = run(STORES)
    recovery = ran.recovery(Rules(window=12, most=24))
    first = recovery.first(len(ran.history))
    assert len(ran.history) - 24 < first
    assert recovery.register(first, "r1").value == X
    assert recovery.register(first - 1, "r1").reason == "before the window"
    assert recovery.first(1) == first
    assert recovery.writes(X, 4).first == first
    assert recovery.pending(1) == 0
    assert recovery.touched(first - 1, 2, X, 4) == Touched(1, first - 1, (), (), False)


def test_what_was_interrupted_goes_on_from_there() -> None:
    ran = run(STORES)
    recovery = ran.recovery(Rules(window=12))
    shares: List[float] = []

    def stop(share: float) -> None:
        shares.append(share)
        if share > 0.5 and len(shares) == shares.index(share) + 1 and not stopped:
            stopped.append(share)
            raise KeyboardInterrupt

    stopped: List[float] = []
    watched = Recovery(ran.history, ran.end, rules=Rules(window=12), progress=stop)
    due = watched.pending(1)
    with pytest.raises(KeyboardInterrupt):
        watched.register(1, "r0")
    assert 0 < watched.pending(1) < due
    assert watched.register(1, "r0") == recovery.register(1, "r0")
    assert max(shares) <= 1


def test_a_value_says_where_it_is_known_from() -> None:
    ran = run(STORES)
    recovery = ran.recovery(Rules(window=12))
    assert recovery.register(5, "r1").value == X
    told = recovery.register(5, "r7")
    assert told.value == ran.before[4]["r7"] and told.reason.startswith("known before #")
    assert "halt" not in "".join(step.text for step in recovery.why(5, "r7"))
