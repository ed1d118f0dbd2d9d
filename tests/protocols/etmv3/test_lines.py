"""Property test: atoms followed along lines against atoms followed one by one."""

from __future__ import annotations

from typing import List, Optional, Tuple

from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.capture import MemoryImage
from gdb_etm.program.blocks import Blocks
from gdb_etm.program.image import Program
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.armv7.automaton import AddressState, Automaton, ProgramPoint, UnknownPoint
from gdb_etm.protocols.armv7.fields import IsaState, Reference
from gdb_etm.protocols.elements import Cycles, Range
from gdb_etm.protocols.etmv3.automaton import Etmv3Automaton
from gdb_etm.protocols.etmv3.headers import build_table
from gdb_etm.protocols.recorder import Leg, Run
from tests.protocols.etmv3.streams import CYCLES

BEGIN = 0x1000
# movs, nop, ldr, beq forward, b forward, cbz, bx lr, bl, mov.w, isb, and any other halfword.
THUMB = ("0120", "00bf", "0868", "02d0", "01e0", "08b1", "7047", "00f002f8", "4ff00100", "bff36f8f")
# mov, ldr, beq, b, bx lr, pop, cmp, and a load to PC.
ARM = ("0010a0e1", "000091e5", "0100000a", "010000ea", "1eff2fe1", "1080bde8", "000050e3", "00f09fe5")
codes = st.one_of(
    st.tuples(
        st.just(Isa.T32),
        st.lists(st.one_of(st.sampled_from(THUMB), st.binary(min_size=2, max_size=2).map(bytes.hex)), max_size=60),
    ),
    st.tuples(st.just(Isa.A32), st.lists(st.sampled_from(ARM), max_size=60)),
)


def automata(code: str) -> Tuple[Etmv3Automaton, Etmv3Automaton]:
    """Make one that follows lines, and one that does not."""
    made = []
    for _ in range(2):
        program = Program([MemoryImage(BEGIN, bytes.fromhex(code), "")])
        made.append(Etmv3Automaton(Blocks(program), build_table(CYCLES), CYCLES))
    made[1]._lines = None
    return made[0], made[1]


def where(automaton: Automaton, point: ProgramPoint) -> Tuple[Optional[str], int, Isa]:
    """Name a program point."""
    return point.why if isinstance(point, UnknownPoint) else None, point.address, point.isa


def content(run: Run) -> List[Tuple[int, object]]:
    """List what a run holds."""
    return list(run.items())


def parts(steps: Tuple[object, ...]) -> List[Tuple[Range, ...]]:
    """List the ranges of steps, and nothing for cycles."""
    return [step.ranges if isinstance(step, Leg) else () for step in steps if isinstance(step, (Leg, Cycles))]


@given(codes, st.lists(st.text("EN", min_size=1, max_size=40), min_size=1, max_size=6))
def test_successors_agree(code: Tuple[Isa, List[str]], atoms: List[str]) -> None:
    isa, words = code
    lined, hopped = automata("".join(words))
    point, other = lined.point(BEGIN, isa), hopped.point(BEGIN, isa)
    for some in atoms:
        found, expected = lined.find_successor(point, some), hopped.find_successor(other, some)
        assert found.atoms == expected.atoms
        assert parts(found.steps) == parts(expected.steps)
        assert where(lined, found.point) == where(hopped, expected.point)
        point, other = found.point, expected.point


@given(
    codes,
    st.lists(st.sampled_from((0x80, 0x84, 0x88, 0x9C, 0xA4, 0xC4, 0xE4, 0x66, 0x41, 0x03)), min_size=1, max_size=40),
)
def test_transitions_agree(code: Tuple[Isa, List[str]], headers: List[int]) -> None:
    isa, words = code
    data = bytes(headers)
    state = IsaState.THUMB if isa is Isa.T32 else IsaState.ARM
    both = automata("".join(words))
    states = [one.state(one.point(BEGIN, isa), AddressState(Reference(BEGIN, state))) for one in both]
    at = 0
    while at < len(data):
        made = [one.transition(here, data, at, len(data)) for one, here in zip(both, states)]
        first, second = made
        assert (first is None) == (second is None)
        if first is None or second is None:
            break
        assert first.length == second.length
        runs = [one.runs.runs[transition.run] for one, transition in zip(both, (first, second))]
        assert runs[0].instructions == runs[1].instructions
        assert runs[0].length == runs[1].length
        assert content(runs[0]) == content(runs[1])
        assert content(runs[0]) == content(runs[0])
        assert first.state.addresses == second.state.addresses
        assert where(both[0], first.state.point) == where(both[1], second.state.point)
        states = [first.state, second.state]
        at += first.length
