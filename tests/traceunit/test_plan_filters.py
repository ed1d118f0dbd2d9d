"""Vectors worked by hand, property tests: filters in plans.

AT-nn: programming map section 5; V-nn: its rules in 3.6, with the lines of IHI 0064's text.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Set

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.board.comparators import AddressComparators
from gdb_etm.board.trace_enable import TraceEnable
from gdb_etm.board.viewinst import ViewInst
from gdb_etm.errors import UnsupportedError
from gdb_etm.traceunit.armv7.capabilities import EtmV3Capabilities
from gdb_etm.traceunit.armv7.etmv3 import plan_program as plan_etmv3
from gdb_etm.traceunit.armv7.ptm import plan_program as plan_ptm
from gdb_etm.traceunit.etmv4.capabilities import Capabilities
from gdb_etm.traceunit.etmv4.plan import plan_program
from gdb_etm.traceunit.options import AddressRange, ExceptionTrace, TraceOptions
from gdb_etm.traceunit.plan import Plan
from gdb_etm.traceunit.ranges import packed

from . import units

KIB = 1024
_HANDLER = 3  # the exception level of Handler mode
ALL_S, ALL_NS = 0xB, 0x7  # of the A53: EL0, EL1, EL3 and EL0 to EL2


def values(unit: Capabilities, **options: Any) -> Dict[str, int]:
    plan = plan_program(TraceOptions(**options), unit, 4 * KIB)
    return {write.name: write.value for write in plan.writes}


def refused(unit: Capabilities, message: str, **options: Any) -> None:
    with pytest.raises(UnsupportedError, match=message) as error:
        plan_program(TraceOptions(**options), unit, 4 * KIB)
    assert error.value.register in str(error.value)


def view_of(registers: Callable[[int], int]) -> Callable[..., bool]:
    """Make the board's ViewInst for an instruction and level."""
    comparators, view = AddressComparators(registers, 4), ViewInst(registers)
    return lambda address, level=0: view.traces(comparators.instruction(address, level), level, True)


def test_both_ends_of_a_range_are_included() -> None:
    """AT-09, L4426: 0x0 to 0x2C; 0x2C is traced, 0x30 not."""
    got = values(units.A53, include=(AddressRange(0, 0x2C),))
    assert (got["TRCACVR6"], got["TRCACVR7"], got["TRCVIIECTLR"]) == (0, 0x2C, 8)
    offsets = {
        write.offset: write.value
        for write in plan_program(TraceOptions(include=(AddressRange(0, 0x2C),)), units.A53, 4 * KIB).writes
    }
    view = view_of(lambda offset: offsets.get(offset, 0))
    assert [view(address) for address in (0, 0x2C, 0x30)] == [True, True, False]


def test_handlers_and_threads() -> None:
    """AT-43, V-35, L7713: bit 19 is Handler mode, bit 16 Thread."""
    assert values(units.M33, exceptions=ExceptionTrace.ONLY)["TRCVICTLR"] == 0x00010201
    assert values(units.M33, exceptions=ExceptionTrace.OFF)["TRCVICTLR"] == 0x00080201
    # L18887, L18898: resets and system errors, where TRCIDR3.TRCERR is 1.
    assert values(units.M33, exceptions=ExceptionTrace.ON)["TRCVICTLR"] == 0x00000E01
    without = Capabilities({**units.M33.registers, "TRCIDR3": 0x0E090004})
    assert values(without, exceptions=ExceptionTrace.ON)["TRCVICTLR"] == 0x00000601
    refused(
        units.A53, r"exceptions off: .* not a Cortex-M's \(TRCIDR3.EXLEVEL_S is 0xb\)", exceptions=ExceptionTrace.OFF
    )


def test_secure_and_nonsecure() -> None:
    """V-35, L18857: only bits of levels that are there."""
    assert values(units.A53, secure=False)["TRCVICTLR"] == 0x201 | ALL_S << 16
    assert values(units.A53, nonsecure=False)["TRCVICTLR"] == 0x201 | ALL_NS << 20
    refused(units.M33, "does not distinguish them .TRCIDR3.EXLEVEL_NS is 0", secure=False)
    with pytest.raises(ValueError, match="nothing is left"):
        TraceOptions(secure=False, nonsecure=False)


def test_a_context_narrows_the_ranges() -> None:
    """L14778, V-21, V-30: both comparators; V-29: the mask too."""
    got = values(units.A53, include=(AddressRange(0x1000, 0x10FF),), contexts=(0x42,))
    assert [got[name] for name in ("TRCACATR6", "TRCACATR7", "TRCCIDCVR0", "TRCCIDCCTLR0")] == [4, 4, 0x42, 0]
    assert got["TRCVIIECTLR"] == 8 and got["TRCACATR0"] == 0
    everywhere = values(units.A53, contexts=(0x42,))
    assert [everywhere["TRCACVR%s" % n] for n in ("6", "6[63:32]", "7", "7[63:32]")] == [0, 0, 0xFFFFFFFF, 0xFFFFFFFF]
    assert everywhere["TRCACATR7"] == 4
    refused(units.A53, r"has 1 Context ID comparator \(TRCIDR4.NUMCIDC\); the filters need 2", contexts=(1, 2))
    refused(units.M33, "Context ID: not in this trace unit .TRCIDR2.CIDSIZE is 0", contexts=(1,))
    with pytest.raises(ValueError, match="32 bits"):
        TraceOptions(contexts=(1 << 32,))


def test_two_contexts_need_two_pairs_each() -> None:
    unit = Capabilities({**units.A53.registers, "TRCIDR4": 0x12170004})
    got = values(unit, include=(AddressRange(0x1000, 0x10FF), AddressRange(0x3000, 0x30FF)), contexts=(7, 9))
    assert [got["TRCACATR%d" % n] for n in range(8)] == [0x14, 0x14, 4, 4, 0x14, 0x14, 4, 4]
    assert (got["TRCVIIECTLR"], got["TRCCIDCVR0"], got["TRCCIDCVR1"]) == (0xF, 7, 9)


def test_a_point_does_one_thing() -> None:
    """V-32, L4396: not start and stop; repeated, one comparator."""
    with pytest.raises(ValueError, match="0x00001000 both starts and stops"):
        TraceOptions(start_at=(0x1000,), stop_at=(0x2000, 0x1000))
    got = values(units.A53, start_at=(0x1000, 0x1000), stop_at=(0x2000,))
    assert got["TRCVISSCTLR"] == 0x00020001


def test_start_state_is_chosen() -> None:
    """V-34, L18912: started where no start address is."""
    for options, status in (({}, 1), (dict(stop_at=(8,)), 1), (dict(start_at=(8,)), 0), (dict(include=((0, 3),)), 1)):
        chosen = {
            name: tuple(AddressRange(*each) for each in found) if name == "include" else found
            for name, found in options.items()
        }
        assert values(units.A53, **chosen)["TRCVICTLR"] >> 9 & 1 == status


def test_ranges_and_points_share_the_pairs() -> None:
    """V-49: ranges from the last pair, points from the first comparator."""
    ranges = tuple(AddressRange(n << 12, (n << 12) + 0xFF) for n in range(3))
    got = values(units.A53, include=ranges, start_at=(0x1000,), stop_at=(0x2000,))
    assert (got["TRCVIIECTLR"], got["TRCVISSCTLR"]) == (0xE, 0x00020001)
    refused(
        units.A53,
        r"^this unit has 4 address comparator pairs \(TRCIDR4.NUMACPAIRS\); the filters need 5$",
        include=ranges,
        start_at=(0x1000, 0x1004),
        stop_at=(0x2000,),
    )


def test_comparators_of_instructions() -> None:
    """V-22, V-31, L4222: instruction comparators only, without data."""
    got = values(units.DATA, include=(AddressRange(0, 3),), exclude=(AddressRange(8, 11),), start_at=(4,))
    assert [got["TRCACATR%d" % n] for n in range(8)] == [0] * 8


def test_nothing_left() -> None:
    wide, narrow = AddressRange(0x1000, 0x1FFF), AddressRange(0x1400, 0x17FF)
    refused(units.A53, "nothing is left to trace", include=(narrow,), exclude=(wide,))


@pytest.mark.parametrize(
    "include, exclude, expected",
    [
        ([(0, 99)], [(40, 59)], ([(0, 99)], [(40, 59)])),  # AT-40: two pairs either way
        ([(0, 99)], [(40, 120)], ([(0, 39)], [])),
        ([(0, 99)], [(200, 299)], ([(0, 99)], [])),
        ([(0, 99), (200, 299)], [(90, 210)], ([(0, 89), (211, 299)], [])),
        ([], [(5, 6), (7, 8)], ([], [(5, 8)])),
        ([(0, 9), (10, 19), (15, 30)], [], ([(0, 30)], [])),
    ],
)
def test_packing(include: List[Any], exclude: List[Any], expected: Any) -> None:
    got = packed([AddressRange(*each) for each in include], [AddressRange(*each) for each in exclude])
    assert got == expected


def test_which_comparator_is_whose() -> None:
    options = TraceOptions(include=(AddressRange(0, 3),), exclude=(AddressRange(2, 2),), start_at=(8,), contexts=(5,))
    taken = plan_program(options, units.A53, 4 * KIB).taken
    assert [(each.use, each.where, each.name) for each in taken] == [
        ("include", (0, 3), "pair 3"),
        ("exclude", (2, 2), "pair 2"),
        ("start", (8, 8), "comparator 0"),
        ("context", (5, 5), "Context ID comparator 0"),
    ]
    taken = plan_ptm(TraceOptions(include=(AddressRange(0, 3),), stop_at=(8,)), units.A9, 4 * KIB).taken
    assert [(each.use, each.name) for each in taken] == [("include", "pair 4"), ("stop", "comparator 1")]
    taken = plan_etmv3(TraceOptions(include=(AddressRange(0, 3),), stop_at=(8,)), units.M4, 4 * KIB).taken
    assert [(each.use, each.name) for each in taken] == [("include", "DWT comparator 3"), ("stop", "DWT comparator 2")]


@pytest.mark.parametrize(
    "options, event",
    [
        (dict(secure=False), 0x0006D),  # in Non-secure state
        (dict(nonsecure=False), 0x0406D),  # not
        (dict(contexts=(5,)), 0x00058),
        (dict(contexts=(5,), secure=False), 0x0AC6D),  # A and B
        (dict(contexts=(5,), nonsecure=False), 0x0EC6D),  # not A and B
    ],
)
def test_conditions_of_older_units(options: Dict[str, Any], event: int) -> None:
    """Programming map 6.1: resources 0x58, 0x6D in ETMTEEVR; functions 0-3."""
    asked = TraceOptions(**options)
    for plan in (plan_ptm(asked, units.A9, 4 * KIB), plan_etmv3(asked, units.A7, 4 * KIB)):
        assert plan.notes[-1].startswith("contexts and security states are told by an event")  # V-45
        assert plan.value("ETMTEEVR") == event and plan.value("ETMCIDCMR") == 0
        assert plan.value("ETMCIDCVR1") == (5 if "contexts" in options else 0)


@pytest.mark.parametrize(
    "unit, options, message",
    [
        (units.M4, dict(secure=False), r"Secure and Non-secure code: not in this trace unit \(ETMIDR.Security is 0\)"),
        (units.M4, dict(contexts=(1,)), r"has 0 Context ID comparators \(ETMCCR.CIDComps\); the filters need 1"),
        (units.A7, dict(contexts=(1, 2)), r"has 1 Context ID comparator \(ETMCCR.CIDComps\); the filters need 2"),
        (
            units.FULL,
            dict(exceptions=ExceptionTrace.OFF),
            r"exceptions off: .* \(ETMIDR.Major\); exclude their functions",
        ),
    ],
)
def test_what_older_units_lack(unit: EtmV3Capabilities, options: Dict[str, Any], message: str) -> None:
    with pytest.raises(UnsupportedError, match=message) as error:
        plan_etmv3(TraceOptions(**options), unit, 4 * KIB)
    assert error.value.register in str(error.value)


_SPACE = 64
_RANGES = st.tuples(st.integers(0, _SPACE), st.integers(0, 12)).map(lambda pair: AddressRange(pair[0], sum(pair)))
_FILTERS = st.fixed_dictionaries(
    {"include": st.lists(_RANGES, max_size=3).map(tuple), "exclude": st.lists(_RANGES, max_size=3).map(tuple)}
)


def _wanted(filters: Dict[str, Any]) -> Set[int]:
    chosen = {at for pair in filters["include"] for at in range(pair.first, pair.last + 1)}
    cut = {at for pair in filters["exclude"] for at in range(pair.first, pair.last + 1)}
    return {at for at in range(2 * _SPACE) if (at in chosen or not filters["include"]) and at not in cut}


@given(_FILTERS, st.booleans())
def test_what_an_etmv4_is_told_is_what_was_wanted(filters: Dict[str, Any], off: bool) -> None:
    """Property test: the board's ViewInst traces what was asked for."""
    options = TraceOptions(exceptions=ExceptionTrace.OFF if off else ExceptionTrace.AS_OTHERS, **filters)
    unit = Capabilities({**units.M33.registers, "TRCIDR4": 0x00114004})
    try:
        plan = plan_program(options, unit, 4 * KIB)
    except UnsupportedError:
        return
    view = view_of(_registers(plan))
    wanted = _wanted(filters)
    # Instructions are at even addresses.
    assert {at for at in range(0, 2 * _SPACE, 2) if view(at)} == {at for at in wanted if at % 2 == 0}
    handlers = {at for at in range(0, 2 * _SPACE, 2) if view(at, _HANDLER)}
    assert handlers == (set() if off else {at for at in wanted if at % 2 == 0})


@given(_FILTERS)
def test_what_a_ptm_is_told_is_what_was_wanted(filters: Dict[str, Any]) -> None:
    """Property test: TraceEnable, where ranges end with an instruction."""
    even = {
        name: tuple(AddressRange(pair.first & ~1, pair.last | 1) for pair in found) for name, found in filters.items()
    }
    try:
        plan = plan_ptm(TraceOptions(**even), units.A9, 4 * KIB)
    except UnsupportedError:
        return
    view = TraceEnable(_registers(plan), 4)
    assert {at for at in range(0, 2 * _SPACE, 2) if view(at)} == {at for at in _wanted(even) if at % 2 == 0}


def _registers(plan: Plan) -> Any:
    offsets = {write.offset: write.value for write in plan.writes}
    return lambda offset: offsets.get(offset, 0)
