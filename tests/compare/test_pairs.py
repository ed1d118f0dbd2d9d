"""The board's truth: of 20 pairs with one planted difference each the first is found.

Where both ran, by the board's own account, tells where the first branch is that went another way.
"""

from __future__ import annotations

from pathlib import Path
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

import pytest

import gdb_etm
from gdb_etm.commands.compare import snapshot_side
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.recovery.values import Tier
from gdb_etm.session.compared import OTHER_CODE, compared
from gdb_etm.session.progress import Meter
from gdb_etm.session.session import DebugSession
from gdb_etm.views.compare import Compared, compare_lines
from tests.firmware.build import compiler, symbol
from tests.firmware.pairs.build import build, line_of

pytest.importorskip("unicorn")
pytestmark = pytest.mark.skipif(compiler() is None, reason="no arm-none-eabi-gcc")

_SECONDS = 60.0


class Variant(NamedTuple):
    """A run of the program."""

    # Options of its build.
    options: Tuple[str, ...] = ()
    # Other inputs, by index.
    inputs: Tuple[Tuple[int, int], ...] = ()


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
    """Runs variants on one board, each once.

    :param folder: Where everything is put.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: Dict[Variant, Recorded] = {}

    def run(self, variant: Variant) -> Recorded:
        """Run a variant, unless that was done."""
        if variant not in self._known:
            self._known[variant] = self._run(variant, self._folder / str(len(self._known)))
        return self._known[variant]

    def _run(self, variant: Variant, folder: Path) -> Recorded:
        folder.mkdir()
        elf, truth = build(folder / "pairs.elf", variant.options, variant.inputs), folder / "truth"
        with gdb_etm.connect("board:m33", elf=elf, truth=str(truth), etb_size=65536) as session:
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
def recorder(tmp_path_factory: pytest.TempPathFactory) -> Recorder:
    """What runs variants."""
    return Recorder(tmp_path_factory.mktemp("pairs"))


def found_between(left: Recorded, right: Recorded) -> Compared:
    """Compare two runs."""
    like = DebugSession(OfflineDebugger(), Meter())
    sides = [snapshot_side(str(one.snapshot), [str(one.elf)], None, like) for one in (left, right)]
    return compared(sides[0], sides[1])


def first_difference(left: Recorded, right: Recorded) -> Optional[int]:
    """Give the number of the last instruction before what really ran differs."""
    number = 0
    for one, other in zip(left.truth, right.truth):
        if one != other:
            return number
        number += one >= 0
    return None


def is_planted(name: str, found: Compared, left: Recorded, right: Recorded) -> bool:
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
        found = found_between(base, other)
        if is_planted(name, found, base, other):
            right.append(name)
        elif not found.doubts:
            wrong.append((name, "\n".join(compare_lines(found))))
    assert not wrong and len(right) >= 18, (right, wrong)


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as made:
        own = Recorder(Path(made))
        for each, planted in PAIRS.items():
            result = found_between(own.run(BASE), own.run(planted))
            print("=====", each, is_planted(each, result, own.run(BASE), own.run(planted)))
            print("\n".join(compare_lines(result)))
