"""The board's truth: a pair's first difference is the planted one.

20 pairs have one each.

Where both ran, by the board's own account, tells where the first branch is that went another way.
"""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

import pytest

import gdb_etm
from gdb_etm.commands.compare import part_of, snapshot_side
from gdb_etm.errors import CommandError
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.recovery.values import Tier
from gdb_etm.session.compared import OTHER_CODE, compared
from gdb_etm.session.progress import Meter
from gdb_etm.session.session import DebugSession
from gdb_etm.session.sides import Side
from gdb_etm.views.compare import ComparedExecutions, compare_lines
from tests.access.processes import ByHand, serve_by_hand
from tests.firmware.build import compiler, size, symbol
from tests.firmware.pairs.build import SOURCE, build, line_of

pytest.importorskip("unicorn")
pytestmark = pytest.mark.skipif(compiler() is None, reason="no arm-none-eabi-gcc")

_SECONDS = 60.0
SKIPPED = SOURCE.with_name("skipped.c")


class Variant(NamedTuple):
    """A run of the program."""

    # Options of its build.
    options: Tuple[str, ...] = ()
    # Other inputs, by index.
    inputs: Tuple[Tuple[int, int], ...] = ()
    etb_size: int = 65536


class Recorded(NamedTuple):
    """A run that was recorded."""

    elf: Path
    snapshot: Path
    # What really ran, and exceptions as negative numbers.
    truth: List[int]


BASE = Variant()
INPUTS = {0: 4, 1: 14, 2: ord("e"), 3: 7, 4: 3, 5: 0x11, 6: 1}
PERIODS = (699, 703, 641)
PAIRS: Dict[str, Variant] = {
    **{"INPUT %d" % at: Variant((), ((at, value),)) for at, value in INPUTS.items()},
    **{"BRANCH %d" % at: Variant(("-DBRANCH=%d" % at,)) for at in range(1, 6)},
    **{"RACE %d" % at: Variant((), ((7, period),)) for at, period in enumerate(PERIODS)},
    **{"FLAG %d" % at: Variant(("-DFLAG=%d" % at,)) for at in range(1, 6)},
}


class Recorder:
    """Runs variants, each once.

    Those with a buffer of one size run on one board.

    :param folder: Where everything is put.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: Dict[Variant, Recorded] = {}
        self._boards: Dict[int, ByHand] = {}
        self._sides: Dict[Variant, Side] = {}

    def run(self, variant: Variant) -> Recorded:
        """Run a variant, unless that was done."""
        if variant not in self._known:
            self._known[variant] = self._run(variant, self._folder / str(len(self._known)))
        return self._known[variant]

    def side(self, variant: Variant) -> Side:
        """Run a variant, and read its snapshot."""
        if variant not in self._sides:
            self._sides[variant] = side(self.run(variant))
        return self._sides[variant]

    def close(self) -> None:
        """Take the boards' power."""
        for board in self._boards.values():
            board.process.terminate()
            board.process.communicate()

    def _board(self, etb_size: int, truth: Path) -> ByHand:
        if etb_size not in self._boards:
            options = ["board.truth=%s" % truth, "board.etb_size=%d" % etb_size]
            self._boards[etb_size] = serve_by_hand(*["-O%s" % one for one in options])
        return self._boards[etb_size]

    def _run(self, variant: Variant, folder: Path) -> Recorded:
        folder.mkdir()
        elf = build(folder / "pairs.elf", variant.options, variant.inputs)
        truth = self._folder / ("truth-%d" % variant.etb_size)
        board = self._board(variant.etb_size, truth)
        with gdb_etm.connect("localhost:%d" % board.control_port, elf=elf) as session:
            session.load(elf)
            session.reset()
            session.configure(cycles=16)
            session.start()
            assert session.run_to("finished", _SECONDS).function == "finished"
            session.capture().save(folder / "snapshot")
        lines = truth.read_text().splitlines()
        reset = symbol(str(elf), "Reset_Handler")
        begin = [at for at, line in enumerate(lines) if line.startswith("0x") and int(line.split()[0], 16) == reset][-1]
        ran = [_item(line) for line in lines[begin:] if line.startswith(("0x", "exception"))]
        return Recorded(elf, folder / "snapshot", ran)


def _item(line: str) -> int:
    words = line.split()
    if words[0] == "exception-return":
        return -1000
    return -int(words[1]) if words[0] == "exception" else int(words[0], 16)


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorder]:
    """What runs variants."""
    made = Recorder(tmp_path_factory.mktemp("pairs"))
    yield made
    made.close()


def side(recorded: Recorded) -> Side:
    """Read a run's snapshot."""
    like = DebugSession(OfflineDebugger(), Meter())
    return snapshot_side(str(recorded.snapshot), [str(recorded.elf)], None, like)


def first_difference(left: Recorded, right: Recorded) -> Optional[int]:
    """Give the number of the last instruction before what really ran differs."""
    number = 0
    for one, other in zip(left.truth, right.truth):
        if one != other:
            return number
        number += one >= 0
    return None


def is_planted(name: str, found: ComparedExecutions, left: Recorded, right: Recorded) -> bool:
    """Tell whether the planted difference is the one that was found first."""
    number = first_difference(left, right)
    if name.startswith("RACE"):
        # The interrupt comes elsewhere; what branches after that is no difference that was planted.
        after = [place.number for place in found.interrupted if place is not None]
        return found.interrupt is not None and found.interrupt.name == "SysTick" and min(after) == number
    if found.branches is None:
        return False
    line, places = "pairs.c:%d" % line_of(name), [one.branch for one in found.branches]
    if not found.by_line:
        return all((place.line, place.number) == (line, number) for place in places)
    if OTHER_CODE in found.doubts:
        # The builds differ in what comes next.
        return line in [one.next.line for one in found.branches if one.next is not None] + [places[0].line]
    return all(place.line == line for place in places)


def test_the_first_difference_is_the_planted_one(recorder: Recorder) -> None:
    assert len(PAIRS) == 20
    base, right, wrong = recorder.run(BASE), [], []
    for name, variant in PAIRS.items():
        other = recorder.run(variant)
        found = compared(recorder.side(BASE), side(other))
        if is_planted(name, found, base, other):
            right.append(name)
        elif not found.doubts:
            wrong.append((name, "\n".join(compare_lines(found))))
    assert not wrong and len(right) >= 18, (right, wrong)


def test_what_decided_the_branch_has_its_values(recorder: Recorder) -> None:
    found = compared(recorder.side(BASE), recorder.side(PAIRS["INPUT 0"]))
    assert found.branches is not None and not found.doubts
    for branch, wanted in zip(found.branches, (7, INPUTS[0])):
        operands = {one.register: one for one in branch.operands}
        assert (operands["r0"].value, operands["r0"].tier) == (wanted, Tier.EXACT)
        assert operands["r0"].origin == "loaded from input[0]" and operands["r1"].value == INPUTS[0]
        assert branch.callers == ("find", "run", "Reset_Handler")


def test_what_ran_more_is_what_really_ran_more(recorder: Recorder) -> None:
    base, other = recorder.run(BASE), recorder.run(PAIRS["INPUT 4"])
    found = compared(recorder.side(BASE), recorder.side(PAIRS["INPUT 4"]))
    (change,) = [one for one in found.functions if one.name == "retry"]
    counts = []
    for one in (base, other):
        first = symbol(str(one.elf), "retry")
        code = range(first, first + size(str(one.elf), "retry"))
        counts.append(sum(address in code for address in one.truth))
    assert [change.left, change.right] == counts and counts[0] < counts[1]


def test_alike_is_alike_also_in_parts(recorder: Recorder) -> None:
    base, other = recorder.side(BASE), recorder.side(PAIRS["INPUT 0"])
    same = compared(base, side(recorder.run(BASE)))
    assert same.branches is None and not same.doubts and not same.functions and not same.times
    before = compared(part_of(base, 1, 250), part_of(other, 1, 250))
    assert before.branches is None and before.comparison.alike == 250
    # A part ends earlier: exceptions that come after its end are no difference.
    part = compared(part_of(base, 1, 250), base)
    assert part.branches is None and part.comparison.interrupt is None and part.comparison.alike == 250
    with pytest.raises(CommandError, match=r"has no instructions 9-5000; there are 3,?690"):
        part_of(base, 9, 5000)


def test_a_buffer_that_wrapped_gives_no_wrong_branch(recorder: Recorder) -> None:
    small = [recorder.side(variant._replace(etb_size=512)) for variant in (BASE, PAIRS["INPUT 0"], PAIRS["RACE 2"])]
    # What differed was overwritten.
    lost = compared(small[0], small[1])
    assert lost.branches is None or lost.doubts
    race = compared(small[0], small[2])
    assert race.branches is None or race.doubts


LEVELS = ("-O0", "-Og", "-O1", "-O2", "-O3", "-Os")


def at_level(variant: Variant, level: str) -> Variant:
    return variant._replace(options=(*variant.options, level))


@pytest.mark.sweep
@pytest.mark.parametrize("levels", list(combinations(LEVELS, 2)), ids=lambda levels: "%s%s" % levels)
def test_two_levels_of_optimisation_do_the_same(levels: Tuple[str, str], recorder: Recorder) -> None:
    found = compared(*[recorder.side(at_level(BASE, level)) for level in levels])
    assert found.branches is None and not found.doubts, "\n".join(compare_lines(found))
    assert found.called is not None and found.called.functions >= 12 and found.called.values >= 10
    lines = list(compare_lines(found))
    assert re.search(r"compared by calls of 1\d functions: alike for 1\d calls; no call went another way$", lines[1])


def function_of(line: int) -> str:
    """Name the function that holds a line of the program."""
    heads = [re.match(r"(?:static NOINLINE )?\w+ \**(\w+)\(", one) for one in SOURCE.read_text().splitlines()[:line]]
    return [head.group(1) for head in heads if head is not None][-1]


@pytest.mark.sweep
@pytest.mark.parametrize("levels", [("-O0", "-O2"), ("-Os", "-O1")], ids=lambda levels: "%s%s" % levels)
def test_a_planted_difference_between_two_levels(levels: Tuple[str, str], recorder: Recorder) -> None:
    """What calls, arguments and results show; nothing else is accused."""
    right, silent = [], []
    for name, variant in PAIRS.items():
        if name.startswith("RACE"):
            continue
        found = compared(recorder.side(at_level(BASE, levels[0])), recorder.side(at_level(variant, levels[1])))
        if found.branches is None or found.doubts:
            silent.append(name)
            continue
        own = function_of(line_of(name))
        for one in found.branches:
            assert own == one.callers[0] or one.next is not None and own == one.next.symbol.partition("+")[0], name
        right.append(name)
    assert len(right) >= 9, (right, silent)


def test_two_levels_and_a_buffer_that_wrapped(recorder: Recorder) -> None:
    small = [at_level(variant._replace(etb_size=512), level) for variant, level in ((BASE, "-O0"), (BASE, "-O2"))]
    found = compared(*map(recorder.side, small))
    assert found.branches is None or found.doubts


def skipping(folder: Path, board: str) -> ComparedExecutions:
    """Compare runs that differ in an IT block alone."""
    sides = []
    for number, value in enumerate((7, 8)):
        elf = build(folder / ("%d.elf" % number), ("-mcpu=cortex-m4",), ((0, value),), SKIPPED)
        with gdb_etm.connect("board:" + board, elf=elf) as session:
            session.reset()
            session.start()
            assert session.run_to("finished", _SECONDS).function == "finished"
            session.capture().save(folder / ("%d" % number))
        like = DebugSession(OfflineDebugger(), Meter())
        sides.append(snapshot_side(str(folder / ("%d" % number)), [str(elf)], None, like))
    return compared(*sides)


def test_an_instruction_that_one_of_them_skipped(tmp_path: Path) -> None:
    """An ETMv3 traces each instruction, skipped or not."""
    found = skipping(tmp_path, "m4")
    assert found.branches is not None and not found.doubts and not found.unseen
    assert [one.passed for one in found.branches] == [True, False]
    for one, value in zip(found.branches, (7, 8)):
        assert one.branch.line == "skipped.c:%d" % line_of("SKIPPED", SKIPPED) and one.branch.text.startswith("mov")
        assert [operand.value for operand in one.operands] == [value]
    lines = list(compare_lines(found))
    assert lines[2] == "first instruction that only one of them executed:"
    assert lines[4].strip() == "executed" and lines[6].strip() == "skipped: its condition failed"


def test_what_is_not_traced_is_said(tmp_path: Path) -> None:
    """An ETMv4 traces branches alone."""
    found = skipping(tmp_path, "m33")
    assert found.branches is None and found.unseen == 1
    assert list(compare_lines(found))[2].startswith("not seen: whether 1 conditional instruction (IT blocks) executed")


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        own = Recorder(Path(folder))
        for each, planted in PAIRS.items():
            result = compared(own.side(BASE), own.side(planted))
            print("=====", each, is_planted(each, result, own.run(BASE), own.run(planted)))
            print("\n".join(compare_lines(result)))
        own.close()
