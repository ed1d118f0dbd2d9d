"""Property test: damaged real captures and random walks.

Bits are flipped, bytes put in, lost and repeated, in the sources' bytes and in the frames that carry them.  What is
told must be possible by Capstone (``possible.py``).  ``scripts/fuzz`` tries many more.
"""

from __future__ import annotations

import pytest

from gdb_etm.program.isa import Isa
from gdb_etm.protocols.elements import Gap, GapReason, Range
from tests.protocols.damage import REAL, WALKS, Case, check, check_whole
from tests.protocols.etmv4.streams import Code, program
from tests.protocols.possible import Judge

CASES = 24
# Without code.
NOTHING_TOLD = ("a55-test-tpiu", "init-short-addr", "lpc1769-m3", "rp2350-m33-0")


@pytest.mark.parametrize("name", [*REAL, *WALKS])
def test_nothing_is_impossible_undamaged(name: str) -> None:
    # The dump of juno_r1_1 is not the code that ran.  Of the big one the beginning.
    length = 1 << 13 if name == "bugfix-exact-match" else 1 << 16
    assert bool(check_whole(name, length)) is (name not in NOTHING_TOLD)


@pytest.mark.sweep
@pytest.mark.parametrize("name", [*REAL, *WALKS])
def test_damage_makes_nothing_impossible(name: str) -> None:
    told = [check(Case(name, seed, frames)) for seed in range(CASES) for frames in (False, seed % 4 == 0)]
    assert bool(max(told)) is (name not in NOTHING_TOLD)


# T32: 1000 movs, beq 1000, b 1000, it eq, bxeq lr, nop.w; A32: 2000 bl 2000.
CODE = program(Code(0x1000, "0120 fdd0 fce7 08bf 7047 aff30080"), Code(0x2000, "feffffeb"))


def of(start: int, end: int, count: int, taken: bool, isa: Isa = Isa.T32) -> Range:
    return Range(start, end, count, isa, taken)


@pytest.mark.parametrize(
    "ranges, wrong",
    [
        ([of(0x1000, 0x1004, 2, True), of(0x1000, 0x1004, 2, False), of(0x1004, 0x1006, 1, True)], ""),
        ([of(0x1006, 0x100A, 2, False), of(0x100A, 0x100E, 1, True)], ""),
        # In the middle of an IT block.
        ([of(0x1008, 0x100A, 1, False)], ""),
        ([of(0x1004, 0x1006, 1, False)], "passes over a branch that is always taken"),
        ([of(0x2000, 0x2004, 1, False, Isa.A32)], "passes over a branch that is always taken"),
        ([of(0x1000, 0x1006, 3, True)], "a branch inside"),
        ([of(0x100A, 0x100C, 1, True)], "ends inside an instruction"),
        ([of(0x1000, 0x1004, 3, True)], "counts 2"),
        ([of(0x2002, 0x2006, 1, True, Isa.A32)], "misaligned"),
        ([of(0x1000, 0x1004, 2, True), of(0x1004, 0x1006, 1, True)], "does not follow"),
        ([of(0x3000, 0x3004, 1, True)], "no code"),
    ],
)
def test_the_judge(ranges: "list[Range]", wrong: str) -> None:
    found = Judge(CODE).impossible(list(enumerate(ranges)), [])
    assert [one.split(":")[0] for one in found] == ([wrong] if wrong else [])


def test_a_gap_explains_a_jump() -> None:
    gap = Gap(1, GapReason.BAD_IMAGE, "")
    elements = [(0, of(0x1000, 0x1004, 2, True)), (1, gap), (2, of(0x1004, 0x1006, 1, True))]
    assert not Judge(CODE).impossible(elements, [])
