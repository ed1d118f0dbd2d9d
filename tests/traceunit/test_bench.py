"""Real pyOCD, property tests: registers of the whole path.

What is written by hand is restored; plans agree with the register pages.
"""

from __future__ import annotations

from typing import Any, List, Tuple, Union

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.access.port import AccessPort
from gdb_etm.coresight.steps import RegisterChange, RegisterPoll, RegisterWrite
from gdb_etm.coresight.topology import find_path
from gdb_etm.errors import CaptureError, UnsupportedError
from gdb_etm.registers import etmv4, etmv4_comparators, etmv4_id, tmc
from gdb_etm.registers.etmv4_page import PAGE
from gdb_etm.traceunit.armv7 import etmv3 as plan_etmv3
from gdb_etm.traceunit.armv7 import ptm as plan_ptm
from gdb_etm.traceunit.armv7.capabilities import EtmV3Capabilities, PtmCapabilities
from gdb_etm.traceunit.bench import Bench
from gdb_etm.traceunit.by_hand import ByHand, Kept, changed, checked
from gdb_etm.traceunit.etmv4.capabilities import Capabilities
from gdb_etm.traceunit.etmv4.plan import plan_program
from gdb_etm.traceunit.features import features
from gdb_etm.traceunit.options import TraceOptions
from gdb_etm.traceunit.parts import PartRole, compare
from gdb_etm.traceunit.plan import Plan
from gdb_etm.traceunit.session import TraceSession
from gdb_etm.views.registers import fields_text, word_fields
from tests.firmware.build import elf
from tests.firmware.cortex_m4.build import elf as elf_m4

from . import units
from .live import CORE, Live, fixture_boards
from .test_plan_etmv3 import OPTIONS
from .test_session import replaced, settings

__all__ = ["fixture_boards"]

Unit = Union[Capabilities, EtmV3Capabilities, PtmCapabilities]


def plan_of(unit: Unit, options: TraceOptions) -> Plan:
    if isinstance(unit, Capabilities):
        return plan_program(options, unit, 4096)
    if isinstance(unit, PtmCapabilities):
        return plan_ptm.plan_program(options, unit, 4096)
    return plan_etmv3.plan_program(options, unit, 4096)


def page_of(unit: Unit) -> Any:
    return PAGE if isinstance(unit, Capabilities) else unit.page


@given(OPTIONS, st.sampled_from([*units.ALL, *units.ETMV3, *units.PTM]))
def test_every_step_is_one_of_the_page(options: TraceOptions, unit: Unit) -> None:
    """Each printed step has its page's name and fields, nothing reserved."""
    try:
        plan = plan_of(unit, options)
    except UnsupportedError as error:
        register, _, field = error.register.partition(".")
        assert field in page_of(unit).by_name[register].fields
        return
    for step in plan.steps:
        register, shift = page_of(unit).at(step.offset)
        assert step.name == register.name + ("[63:32]" if shift else "")
        fields = word_fields(register, shift, step.value)
        assert (
            sum(value << max(field.low - shift, 0) for _, field, value in fields)
            | (register.encode() >> shift) & 0xFFFFFFFF
            == step.value | register.encode() >> shift & 0xFFFFFFFF
        )
        if isinstance(step, RegisterWrite):
            assert register.access == "RW" and not step.mask & ~(register.mask >> shift)
            assert step.value & ~((register.mask | register.encode()) >> shift) == 0
        named = dict(word.split("=") for word in fields_text(register, shift, step.value).split())
        assert {name: int(text, 0) for name, text in named.items() if int(text, 0)} == {
            name: value for name, _, value in fields if value
        }
        if isinstance(step, RegisterPoll):
            assert fields_text(register, shift, step.value, step.mask)


def test_fields_of_a_register_of_two_words() -> None:
    register = etmv4_comparators.TRCACVR[0]
    assert fields_text(register, 0, 0x1000) == "ADDRESS[31:0]=0x1000"
    assert fields_text(register, 32, 0) == "ADDRESS[63:32]=0"
    assert PAGE.at(register.offset + 4)[1] == 32
    with pytest.raises(KeyError):
        PAGE.at(0x084 + 0x300)


@pytest.mark.parametrize("unit", [*units.ALL, *units.ETMV3, *units.PTM])
def test_features_name_fields_of_the_page(unit: Unit) -> None:
    found = {feature.topic: feature for feature in features(unit)}
    assert {"comparators", "filters", "counters", "sequencer", "options", "overflow"} <= set(found)
    for feature in found.values():
        assert feature.words and feature.fields
        for name in feature.fields:
            unit.field(name)


def test_features_in_words() -> None:
    m33 = {feature.topic: feature.words for feature in features(units.M33)}
    assert m33["comparators"] == "4 processor comparator inputs"
    assert m33["counters"] == "1 counter of 16 bits; counter 0 only counts cycles"
    assert m33["single-shot"] == "1 control: by the processor's comparators"
    assert m33["resource selectors"] == "2, beside those for never and always" and m33["sequencer"] == "none"
    a53 = {feature.topic: feature.words for feature in features(units.A53)}
    assert a53["comparators"].startswith("8 address comparators (4 ranges); not of loads and stores; 1 Context ID")
    assert a53["sequencer"] == "4 states"
    minimal = {feature.topic: feature.words for feature in features(units.MINIMAL)}
    assert minimal["resource selectors"] == minimal["events"] == minimal["comparators"] == "none"
    m4 = {feature.topic: feature.words for feature in features(units.M4)}
    assert m4["comparators"] == "4 watchpoint inputs from the DWT's comparators (4 free)"
    a9 = {feature.topic: feature.words for feature in features(units.A9)}
    assert a9["comparators"] == "8 address comparators (4 ranges); 1 Context ID comparator"


def test_what_does_not_fit() -> None:
    control = etmv4.TRCVICTLR
    assert changed(control, 0x601, {"EVENT": 0}, (4, 2)) == 0x600
    assert changed(etmv4.TRCCONFIGR, 0, {"RS": 1}, (4, 2)) == 0x1001
    for register, fields, message in (
        (control, {"EVENT": 0x100}, "TRCVICTLR.EVENT is 8 bits wide: 0x100 does not fit"),
        (control, {"NO": 1}, "TRCVICTLR has no field NO; there are EXLEVEL_NS, "),
        (etmv4.TRCSSCSR[0], {"PC": 0}, "TRCSSCSR0.PC can only be read"),
        (etmv4.TRCTRACEIDR, {"TRACEDATAID": 1}, "TRCTRACEIDR.TRACEDATAID: not before v4.5, this unit is v4.2"),
    ):
        with pytest.raises(CaptureError, match=message):
            changed(register, 0, fields, (4, 2))
    with pytest.raises(CaptureError, match="TRCVICTLR: the bits 0x100 are reserved"):
        checked(control, 0x301)
    with pytest.raises(CaptureError, match="TRCVICTLR is 32 bits wide"):
        checked(control, 1 << 32)


def test_what_was_written_stays_in_the_next_plan() -> None:
    """Only the written fields; registers outside the plan come after it."""
    by_hand = ByHand()
    plan = plan_program(TraceOptions(), units.M33, 4096)
    assert by_hand.over(plan) is plan
    by_hand.keep(Kept(etmv4.TRCVICTLR, 0, 0x400, 0x400))
    by_hand.keep(Kept(etmv4.TRCVICTLR, 0, 0, 0xFF))
    by_hand.keep(Kept(etmv4.TRCAUXCTLR, 0, 5, 0xFFFFFFFF))
    over = by_hand.over(plan)
    assert over.value("TRCVICTLR") == 0x600 and over.steps[-1].name == "TRCAUXCTLR"
    assert over.notes[-1].startswith("as written by hand: TRCVICTLR, TRCAUXCTLR; ")
    assert by_hand.forget("TRCVICTLR") == ["TRCVICTLR"] and by_hand.names == ["TRCAUXCTLR"]
    assert by_hand.forget() == ["TRCAUXCTLR"] and by_hand.over(plan) is plan


@pytest.fixture(name="bench")
def fixture_bench(boards: Any) -> Any:
    live: Live = boards(elf("sort"))
    session = live.trace_session()
    return live, session, Bench(session)


def test_planning_and_comparing_write_nothing(bench: Any) -> None:
    live, session, path = bench
    before = settings(live)
    _, planned = path.plan(TraceOptions(cycle_count=16))
    assert [part.name for part, _ in planned] == ["SCS", "ETM", "FUNNEL", "ETF", "ETM"]
    found = compare(planned)
    assert found.differences and settings(live) == before
    session.start(TraceOptions(cycle_count=16))
    assert compare(planned).differences == () and compare(planned).compared == found.compared
    session.start()
    changes = compare(planned).differences
    assert [(each.register.name, each.planned ^ each.found) for each in changes] == [
        ("TRCCONFIGR", 0x10),
        ("TRCCCCTLR", 0x14),
    ]


class Spy:
    """A port that notes what is written through it.

    :param port: The real port.
    """

    def __init__(self, port: AccessPort) -> None:
        self._port = port
        self.name = port.name
        self.read32, self.read_block, self.read_fifo = port.read32, port.read_block, port.read_fifo
        self.written: List[Tuple[int, int]] = []

    def write32(self, address: int, value: int) -> None:
        """Write one word."""
        self.written.append((address, value))
        self._port.write32(address, value)


@pytest.mark.parametrize("board, program", [("m33", elf("sort")), ("m7", elf("sort")), ("m4", elf_m4("sort"))])
def test_what_is_planned_is_what_a_start_writes(board: str, program: str, boards: Any) -> None:
    live = boards(program, board)
    path = find_path(live.discover().components)
    spy = Spy(live.port)
    session = TraceSession(replaced(path, spy), CORE)
    session.attach()
    _, planned = Bench(session).plan(TraceOptions(branch_broadcast=True))
    spy.written.clear()
    session.start(TraceOptions(branch_broadcast=True))
    steps = [
        (part.registers.base + step.offset, step)
        for part, steps in planned
        for step in steps
        if part.role is not PartRole.PROCESSOR and not isinstance(step, RegisterPoll)
    ]
    assert [address for address, _ in spy.written] == [address for address, _ in steps]
    for (_, value), (_, step) in zip(spy.written, steps):
        mask = step.mask if isinstance(step, RegisterChange) else 0xFFFFFFFF
        assert value & mask == step.value, step.name


def test_registers_that_are_there(bench: Any) -> None:
    live, _, path = bench
    names = [register.name for register in path.registers(path.unit)]
    assert "TRCVICTLR" in names and "TRCVIIECTLR" not in names and "TRCIMSPEC3" not in names
    with pytest.raises(CaptureError, match=r"^TRCVIIECTLR: not in this trace unit \(TRCIDR4.NUMACPAIRS is 0\)$"):
        path.read(path.unit, etmv4.TRCVIIECTLR)
    # What a listing reads leaves everything as it was, the sticky bit too.
    before = settings(live)
    values = path.values(path.unit, path.registers(path.unit))
    assert "TRCPDSR" not in values and "TRCOSLAR" not in values and values["TRCIDR4"] == 0x00114000
    assert settings(live) == before
    sink = next(part for part in path.parts if part.role is PartRole.SINK)
    assert "RRD" not in path.values(sink, path.registers(sink))


def test_writing_by_hand_and_putting_back(boards: Any) -> None:
    live = boards(elf("sort"))
    before = settings(live)
    session: TraceSession = live.trace_session()
    path = Bench(session)
    written = path.write(path.unit, etmv4.TRCVICTLR, None, {"EVENT": 0})
    assert written.after == written.before & ~0xFF and written.is_kept
    # Put back by the process beside GDB too, if GDB is killed.
    assert (path.unit.registers.base + 0x080, written.before) in [step[1:3] for step in session.restoration()]
    sink = next(part for part in path.parts if part.role is PartRole.SINK)
    assert not path.write(sink, tmc.BUFWM, 5, {}).is_kept
    plan = session.start()
    assert plan.value("TRCVICTLR") == 0x200
    for part, register, message in (
        (path.unit, etmv4.TRCVICTLR, r"the trace unit is on \(TRCPRGCTLR.EN is 1, TRCSTATR.IDLE is 0\)"),
        (sink, tmc.TRG, "ETF.TRG: the trace buffer is capturing"),
    ):
        with pytest.raises(CaptureError, match=message):
            path.write(part, register, 0, {})
    session.close()
    assert settings(live) == before


def test_what_is_not_written(bench: Any) -> None:
    live, _, path = bench
    for register, message in (
        (etmv4_id.TRCIDR0, "can only be read"),
        (etmv4_id.TRCOSLAR, "the session holds the trace unit by it"),
        (etmv4_id.TRCCLAIMCLR, "the session holds the trace unit by it"),
    ):
        with pytest.raises(CaptureError, match=message):
            path.write(path.unit, register, 1, {})
    with pytest.raises(CaptureError, match="TRCOSLAR can only be written"):
        path.read(path.unit, etmv4_id.TRCOSLAR)
    scs = next(part for part in path.parts if part.name == "SCS")
    with pytest.raises(CaptureError, match="SCS.DEMCR is the debugger's own"):
        path.write(scs, scs.page.by_name["DEMCR"], None, {"TRCENA": 0})
