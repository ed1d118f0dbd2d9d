"""Worked by hand: the specification's examples, and more.

From a user's words to the registers of the text.

Vectors worked by hand from the specification (AT-nn: programming map section 5, with the lines of IHI 0064's text;
where the text has an error the map says what is right).
"""

from __future__ import annotations

from typing import Dict, Sequence, Tuple

import pytest

from gdb_etm.commands.options import request_of
from gdb_etm.commands.parse import parse, split
from gdb_etm.commands.registry import COMMANDS
from gdb_etm.commands.trace import START
from gdb_etm.errors import EtmError, UnsupportedError
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.offline.locations import ElfLocations
from gdb_etm.session.planning import options_of
from gdb_etm.session.session import DebugSession
from gdb_etm.traceunit.etmv4.capabilities import Capabilities
from gdb_etm.traceunit.etmv4.plan import plan_program
from gdb_etm.traceunit.plan import Plan

from . import units

KIB = 1024


def planned(unit: Capabilities, *lines: str) -> Plan:
    """Type commands after ``etm``; plan what they ask for."""
    debugger = OfflineDebugger()
    session = DebugSession(debugger)
    session.locations = ElfLocations(debugger)
    start: Sequence[str] = ()
    for line in lines:
        name, *words = split(line)
        if name == "start":
            start = words
            continue
        command = next(each for each in COMMANDS if each.name == name)
        list(command.run(session, parse(command, words)))
    return plan_program(options_of(session, request_of(parse(START, start))), unit, 4 * KIB)


def registers(plan: Plan, names: Sequence[str]) -> Dict[str, int]:
    """Return a plan's values for some registers, all written."""
    return {name: plan.value(name) for name in names}


_FLOW = ("set context both", "set timestamps on", "set return-stack on", "set sync-period 4K")
_DATA = (*_FLOW, "set data both", "set conditional all")
_EXAMPLES: Sequence[Tuple[str, Capabilities, Sequence[str], Dict[str, int]]] = (
    (
        "AT-01, L6528: 4.5.1, table 4-15",
        units.A53,
        _FLOW,
        {
            "TRCCONFIGR": 0x18C1,
            "TRCEVENTCTL0R": 0,
            "TRCEVENTCTL1R": 0,
            "TRCSTALLCTLR": 0,
            "TRCSYNCPR": 0xC,
            "TRCTSCTLR": 0,
            "TRCVICTLR": 0x201,
            "TRCVIIECTLR": 0,
            "TRCVISSCTLR": 0,
        },
    ),
    # The text leaves the data of exceptions out of TRCVDCTLR.
    (
        "AT-02, L6553: 4.5.2, table 4-16",
        units.DATA,
        _DATA,
        {"TRCCONFIGR": 0x31FC7, "TRCVDARCCTLR": 0, "TRCVDSACCTLR": 0, "TRCVDCTLR": 0x1001},
    ),
    (
        "AT-03, L6582: 4.5.3, table 4-17",
        units.DATA,
        (*_DATA, "on once exec *0x8000 do mark 0"),
        {
            "TRCCONFIGR": 0x31FC7,
            "TRCACVR0": 0x8000,
            "TRCACATR0": 0,
            "TRCSSCCR0": 1,
            "TRCSSCSR0": 0,
            "TRCRSCTLR2": 0x00030001,
            "TRCEVENTCTL0R": 2,
            "TRCEVENTCTL1R": 1,
        },
    ),
    (
        "AT-04, L20119: E.1",
        units.A53,
        ("on exec *0x1000 or exec *0x2000 do output 0",),
        {"TRCACVR0": 0x1000, "TRCACVR1": 0x2000, "TRCRSCTLR2": 0x00040003, "TRCEVENTCTL0R": 2, "TRCEVENTCTL1R": 0},
    ),
    # The text has comparator 5, here it is the first that is free; its 0x00120001 is wrong (D5).
    (
        "AT-05, L20133: E.2",
        units.A53,
        ("counter 1 5", "on always do count 1", "on exec *0x1000 or counter 1 do trace"),
        {"TRCRSCTLR2": 0x00340001, "TRCRSCTLR3": 0x00120002, "TRCVICTLR": 0x281},
    ),
    # The text's counter begins at zero and reloads to it.
    (
        "AT-06, L6482: 4.4.6",
        units.A53,
        ("counter 0 0 --periodic", "on exec *0x1000 do count 0", "on counter 0 do mark 0"),
        {
            "TRCACVR0": 0x1000,
            "TRCRSCTLR2": 0x00040001,
            "TRCRSCTLR3": 0x00020001,
            "TRCCNTCTLR0": 0x00010002,
            "TRCCNTVR0": 0,
            "TRCCNTRLDVR0": 0,
            "TRCEVENTCTL0R": 3,
        },
    ),
    ("AT-07, L16770: a flat external input", units.M33, ("on input 1 do mark",), {"TRCRSCTLR2": 2}),
    (
        "AT-09, L4426: both ends",
        units.A53,
        ("filter include 0x0-0x2c",),
        {"TRCACVR6": 0, "TRCACVR7": 0x2C, "TRCVIIECTLR": 8},
    ),
    (
        "AT-10, L5602: a byte, three bits ignored",
        units.DATA,
        ("on store *0x20000010 == 0x5a size 1 ignoring 7 do mark",),
        {"TRCDVCMR0": 0x07070707, "TRCDVCVR0": 0x58585858},
    ),
    (
        "AT-11, L5652: a word anywhere in 16 bytes",
        units.DATA,
        ("on load 0x1000-0x100f == 1 do mark",),
        {"TRCACVR0": 0x1000, "TRCACVR1": 0x100F, "TRCACATR0": 0x00190001},
    ),
    (
        "AT-24, L15885: a trigger on the trace bus",
        units.A53,
        ("on exec *0x1000 do trigger", "on exec *0x1000 do mark 0"),
        {"TRCEVENTCTL1R": 0x801},
    ),
    (
        "AT-40",
        units.A53,
        ("filter include 0x1000-0x10ff", "filter exclude 0x1040-0x107f"),
        {
            "TRCACVR6": 0x1000,
            "TRCACVR7": 0x10FF,
            "TRCACVR4": 0x1040,
            "TRCACVR5": 0x107F,
            "TRCVIIECTLR": 0x00040008,
            "TRCVICTLR": 0x201,
        },
    ),
    (
        "AT-41",
        units.A53,
        ("filter start *0x1000", "filter stop *0x2000"),
        {"TRCACVR0": 0x1000, "TRCACVR1": 0x2000, "TRCVISSCTLR": 0x20001, "TRCVICTLR": 1},
    ),
    ("AT-42", units.M33, ("on dwt 0 do start", "on dwt 1 do stop"), {"TRCVIPCSSCTLR": 0x20001, "TRCVICTLR": 1}),
    ("AT-43", units.M33, ("filter exceptions only",), {"TRCVICTLR": 0x00010201}),
    ("AT-43", units.M33, ("filter level thread",), {"TRCVICTLR": 0x00080201}),
    ("AT-44", units.A53, ("filter level ns1",), {"TRCVICTLR": 0x005B0201}),
    ("AT-45", units.A53, ("filter level s3",), {"TRCVICTLR": 0x00730201}),
    ("AT-46", units.M33, ("set cycle-count 16", "set return-stack off"), {"TRCCONFIGR": 0x11, "TRCCCCTLR": 0x10}),
    ("AT-47", units.M33, ("start --cycles 4 --timestamps",), {"TRCCONFIGR": 0x1811}),
    (
        "AT-48",
        units.A53,
        ("on in 0x8000-0x80ff and not context 5 do mark 0",),
        {"TRCRSCTLR2": 0x00160001, "TRCRSCTLR3": 0x00050008, "TRCEVENTCTL0R": 0x81},
    ),
    (
        "AT-49",
        units.A53,
        ("counter 0 9", "on always do count 0", "on exec *0x1000 or not counter 0 do mark 0"),
        {"TRCRSCTLR2": 0x00220001, "TRCRSCTLR3": 0x00140001, "TRCEVENTCTL0R": 0x81},
    ),
    (
        "AT-50",
        units.A53,
        ("on exec *0x1000 do next-state 0-1", "on exec *0x2000 do next-state 1-2", "on state 2 do mark 0"),
        {
            "TRCRSCTLR2": 0x00040001,
            "TRCRSCTLR3": 0x00040002,
            "TRCRSCTLR4": 0x00020040,
            "TRCSEQEVR0": 2,
            "TRCSEQEVR1": 3,
            "TRCSEQEVR2": 0,
            "TRCSEQRSTEVR": 0,
            "TRCSEQSTR": 0,
            "TRCEVENTCTL0R": 4,
        },
    ),
    (
        "AT-51",
        units.A53,
        ("set timestamps on", "counter 0 999 --periodic", "on always do count 0", "on counter 0 do timestamp"),
        {"TRCCNTRLDVR0": 999, "TRCCNTVR0": 999, "TRCCNTCTLR0": 0x00010001, "TRCRSCTLR2": 0x00020001, "TRCTSCTLR": 2},
    ),
    (
        "AT-51, reduced counter",
        units.M33,
        ("set timestamps on", "counter 0 999 --periodic", "on counter 0 do timestamp"),
        {"TRCCNTRLDVR0": 999, "TRCRSCTLR2": 0x00020001, "TRCTSCTLR": 2},
    ),
    (
        "AT-52",
        units.A53,
        (
            "counter 0 2 --reload 65535 --periodic",
            "counter 1 1 --chained",
            "on exec *0x1000 do count 0",
            "on counter 0 and counter 1 do mark 0",
        ),
        {
            "TRCCNTVR0": 2,
            "TRCCNTRLDVR0": 0xFFFF,
            "TRCCNTCTLR0": 0x00010002,
            "TRCCNTVR1": 1,
            "TRCCNTCTLR1": 0x00020000,
            "TRCRSCTLR4": 0x00020001,
            "TRCRSCTLR5": 0x00020002,
            "TRCEVENTCTL0R": 0x82,
        },
    ),
    ("AT-53", units.A53, ("on input 8 do mark",), {"TRCEXTINSELR": 8, "TRCRSCTLR2": 1}),
    (
        "AT-54",
        units.DATA,
        ("on store *0x20000010 == 0x5a size 1 ignoring 7 do mark",),
        {"TRCACVR0": 0x20000010, "TRCACATR0": 0x00010002, "TRCDVCVR0": 0x58585858, "TRCDVCMR0": 0x07070707},
    ),
    ("AT-55", units.DATA, ("on load *0x20001000 == 0xdeadbeef do mark",), {"TRCACATR0": 0x00090001}),
    (
        "AT-55",
        units.DATA,
        ("on load 0x20001000-0x2000100f == 0xdeadbeef do mark",),
        {"TRCACATR0": 0x00190001, "TRCACATR1": 1},
    ),
    (
        "AT-56",
        units.DATA,
        ("set data both", "filter data-include *0x20001000", "filter data-exclude 0x20002000-0x200020ff"),
        {"TRCVDSACCTLR": 1, "TRCVDARCCTLR": 0x00080000},
    ),
    ("AT-57", units.A53, ("set branch-broadcast 0x1000-0x10ff",), {"TRCBBCTLR": 0x108, "TRCCONFIGR": 0x1009}),
    ("AT-59", units.ONE_PAIR, ("on always do mark 0",), {"TRCEVENTCTL0R": 1, "TRCEVENTCTL1R": 1}),
)


@pytest.mark.parametrize("unit, lines, expected", [row[1:] for row in _EXAMPLES], ids=[row[0] for row in _EXAMPLES])
def test_example(unit: Capabilities, lines: Sequence[str], expected: Dict[str, int]) -> None:
    assert registers(planned(unit, *lines), list(expected)) == expected


@pytest.mark.parametrize(
    "unit, lines, message",
    [
        (units.M33, _FLOW, "Context ID: not in this trace unit (TRCIDR2.CIDSIZE is 0)"),  # AT-01
        (units.M33, ("on once exec *0x8000 do mark",), "TRCIDR4.NUMACPAIRS"),  # AT-03
        (units.DATA, ("on load 0x1000-0x100e == 1 do mark",), "multiples of 4"),  # AT-11
        (units.DATA, ("on load 0x1001-0x1010 == 1 do mark",), "multiples of 4"),
        (units.M33, ("start --cycles 3",), "takes 4 (TRCIDR3.CCITMIN) to 4095"),  # AT-46
        (units.M33, ("filter level thread", "filter exceptions only"), "every exception level is left out"),  # AT-43
        (units.MINIMAL, ("on always do mark",), "TRCIDR4.NUMRSPAIR"),  # AT-58, AT-59
        (units.DATA, ("start --data both --sync-period 300",), "power of two"),
    ],
)
def test_what_the_examples_need(unit: Capabilities, lines: Sequence[str], message: str) -> None:
    with pytest.raises(EtmError) as error:
        planned(unit, *lines)
    assert message in str(error.value)
    if isinstance(error.value, UnsupportedError):
        assert error.value.register in str(error.value)


def test_a_minimal_unit_is_still_started() -> None:
    """AT-58: without selectors (L16524) no TRCEVENTCTL0R; ViewInst's event is always."""
    plan = planned(units.MINIMAL)
    assert plan.value("TRCVICTLR") == 0x201
    with pytest.raises(KeyError):
        plan.value("TRCEVENTCTL0R")
