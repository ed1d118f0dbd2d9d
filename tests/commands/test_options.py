"""Worked by hand: options of ``etm start`` and settings."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Sequence

import pytest

from gdb_etm.commands.options import OPTION_SETTINGS, OPTIONS, request_of
from gdb_etm.commands.parse import parse, split
from gdb_etm.commands.registry import COMMANDS
from gdb_etm.commands.trace import START
from gdb_etm.errors import CaptureError, CommandError
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.offline.locations import ElfLocations
from gdb_etm.session.planning import options_of
from gdb_etm.session.request import TraceRequest
from gdb_etm.session.session import DebugSession
from gdb_etm.traceunit.options import AddressRange, Conditionals, DataTrace, ExceptionLevel, QElements, TraceOptions

RANGE = (AddressRange(0x100, 0x1FF),)


def asked(*lines: str) -> TraceOptions:
    debugger = OfflineDebugger()
    session = DebugSession(debugger)
    session.locations = ElfLocations(debugger)
    start: Sequence[str] = ()
    for line in lines:
        name, *rest = split(line)
        if name == "start":
            start = rest
        else:
            command = next(each for each in COMMANDS if each.name == name)
            list(command.run(session, parse(command, rest)))
    return options_of(session, request_of(parse(START, start)))


@pytest.mark.parametrize(
    "line, expected",
    [
        ("set cycle-count 16", dict(cycle_count=16)),
        ("start --cycles 16", dict(cycle_count=16)),
        ("set timestamps on", dict(timestamps=True)),
        ("start --timestamps", dict(timestamps=True)),
        ("set return-stack off", dict(return_stack=False)),
        ("start --no-return-stack", dict(return_stack=False)),
        ("set return-stack on", dict(return_stack=True)),
        ("set return-stack auto", dict(return_stack=None)),
        ("set branch-broadcast on", dict(branch_broadcast=True)),
        ("set branch-broadcast 0x100-0x1ff", dict(branch_broadcast=True, broadcast_ranges=RANGE)),
        ("start --broadcast-range 0x100-0x1ff", dict(branch_broadcast=True, broadcast_ranges=RANGE)),
        ("set context id", dict(context_id=True)),
        ("set context both", dict(context_id=True, vmid=True)),
        ("start --context vmid", dict(vmid=True)),
        ("set sync-period 1K", dict(sync_bytes=1024)),
        ("start --sync-period 512", dict(sync_bytes=512)),
        ("set stall on", dict(stall=True)),
        ("set stall 3", dict(stall=True, stall_level=3)),
        ("start --stall-level 3", dict(stall=True, stall_level=3)),
        ("start --stall", dict(stall=True)),
        ("set overflow-prevention on", dict(overflow_prevention=True)),
        ("start --overflow-prevention", dict(overflow_prevention=True)),
        ("set data values", dict(data=DataTrace.VALUES)),
        ("start --data both", dict(data=DataTrace.BOTH)),
        ("start --data both --data-range 0x100-0x1ff", dict(data=DataTrace.BOTH, data_include=RANGE)),
        ("start --data both --data-exclude 0x100-0x1ff", dict(data=DataTrace.BOTH, data_exclude=RANGE)),
        ("set conditional all", dict(conditional=Conditionals.ALL)),
        ("start --conditional loads", dict(conditional=Conditionals.LOADS)),
        ("set q-elements counts", dict(q_elements=QElements.COUNTS)),
        ("start --q-elements on", dict(q_elements=QElements.ON)),
        ("filter level ns1,s3", dict(levels=(ExceptionLevel(1, True), ExceptionLevel(3)))),
        ("filter level thread", dict(levels=(ExceptionLevel(0),))),
    ],
)
def test_each(line: str, expected: Any) -> None:
    assert asked(line) == TraceOptions(**expected)


def test_what_is_typed_comes_before_what_is_set() -> None:
    lines = ("set cycle-count 16", "set sync-period 512", "set data both", "set context id", "set stall 3")
    found = asked(*lines, "start --cycles 4 --sync-period 1K --data off --context vmid --stall-level 0")
    assert found == TraceOptions(cycle_count=4, sync_bytes=1024, vmid=True, stall=True, stall_level=0)
    assert (
        asked(*lines, "set cycle-count off", "set sync-period auto", "set data off", "set context off", "set stall off")
        == TraceOptions()
    )


@pytest.mark.parametrize(
    "line, message",
    [
        ("set cycle-count 0", "at least 1 cycle apart"),
        ("set stall 16", "levels are 0 to 15"),
        ("set context pid", '"pid" is none of: off, id, vmid, both'),
        ("set sync-period many", "is not a number"),
        ("set branch-broadcast nosuch", 'no function "nosuch"|no symbols'),
        ("filter level el1", "no exception level"),
        ("filter level s4", "no exception level"),
        ("start --stall-level 16", "levels are 0 to 15"),
        ("set sync-period 1000", "power of two"),
        ("start --data-range 0x10-0x1f", "data trace is off"),
        ("start --sync-period 3", "power of two"),
    ],
)
def test_what_makes_no_sense(line: str, message: str) -> None:
    with pytest.raises((CommandError, CaptureError), match=message):
        asked(line)


def test_filters_of_data_wait_for_data() -> None:
    lines = ("filter data-include 0x100-0x1ff", "filter data-exclude *0x120")
    assert asked(*lines) == TraceOptions()
    assert asked(*lines, "set data both") == TraceOptions(
        data=DataTrace.BOTH, data_include=RANGE, data_exclude=(AddressRange(0x120, 0x120),)
    )


def test_every_setting_has_an_option() -> None:
    names = {argument.name[2:] for argument in OPTIONS}
    others = {"cycle-count": "cycles", "return-stack": "no-return-stack"}
    assert all(others.get(setting.name, setting.name) in names for setting in OPTION_SETTINGS)


def test_every_option_is_part_of_the_request() -> None:
    names = {argument.name[2:].replace("-", "_") for argument in OPTIONS}
    assert names == {field.name for field in fields(TraceRequest)}


@pytest.mark.parametrize(
    "wished, message",
    [
        (dict(context="pid"), "context: 'pid' is none of: off, id"),
        (dict(cycles=-1), "cycles: -1 is negative"),
        (dict(stall_level=16), "levels are 0 to 15, not 16"),
        (dict(data="all"), "data: 'all' is none of: off, addresses"),
    ],
)
def test_requests_that_make_no_sense(wished: Any, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        TraceRequest(**wished)
