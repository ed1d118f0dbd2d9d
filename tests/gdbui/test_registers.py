"""Real GDB, real pyOCD: plans, differences and registers."""

from __future__ import annotations

import re
from typing import List, Sequence

import pytest

from tests.firmware.build import elf
from tests.firmware.cortex_a.build import elf as elf_a9
from tests.firmware.cortex_m4.build import elf as elf_m4
from tests.gdb_session import run_each, run_gdb

CONNECT = {
    "m33": "etm connect board:m33 --elf %s" % elf("sort"),
    "m7": "etm connect board:m7 --elf %s" % elf("sort"),
    "m4": "etm connect board:m4 --elf %s" % elf_m4("sort"),
    "a9": "etm connect board:a9 --dap-only --elf %s" % elf_a9("sort-t32"),
}
UNIT = {
    "m33": "ETMv4.2 at 0xe0041000",
    "m7": "ETMv4.0 at 0xe0041000",
    "m4": "ETMv3.5 at 0xe0041000",
    "a9": "PTM 1.0 at 0x8009c000",
}


def run(board: str, commands: Sequence[str]) -> List[str]:
    """Run commands after connecting, and give what each wrote."""
    return run_each(commands, [CONNECT[board]])


@pytest.mark.sweep
@pytest.mark.parametrize("board", CONNECT)
def test_plan_then_start_then_diff(board: str) -> None:
    commands = ["etm plan", "etm plan /f", "etm diff", "etm start", "etm diff", "etm diff --branch-broadcast"]
    plan, listed, before, start, after, other = run(board, commands)
    titles = [line for line in plan.splitlines() if not line.startswith(" ")]
    assert titles.count(UNIT[board]) == 2 and any(" at 0x" in line and line.startswith("ET") for line in titles)
    for line in plan.splitlines():
        assert line in titles or re.match(r"  0x[0-9a-f]{3}  \S+ +(0x[0-9a-f]{8}|change|wait for) +(\S+=|\S)", line)
        assert line == line.rstrip() and len(line) < 130
    assert len(listed.splitlines()) > 2 * len(plan.splitlines())
    assert before.splitlines()[0].split() == ["register", "plan", "hardware", "fields"]
    assert re.search(r"^\d+ of \d+ registers differ from the plan\.$", before, re.M)
    assert start.startswith("Tracing everything: ")
    assert re.match(r"As planned: \d+ registers compared\.\n$", after)
    name, field = (
        ("ETM.TRCCONFIGR", "BB")
        if "ETMv4" in UNIT[board]
        else ("PTM.ETMCR" if board == "a9" else "ETM.ETMCR", "BranchBroadcast")
    )
    assert re.search(r"^%s +0x\w+ +0x\w+ +.*%s 0, not 1" % (re.escape(name), field), other, re.M)


@pytest.mark.sweep
@pytest.mark.parametrize("board", CONNECT)
def test_listing_and_reading(board: str) -> None:
    control = "TRCCONFIGR" if "ETMv4" in UNIT[board] else "ETMCR"
    sink = "ETF" if "ETMv4" in UNIT[board] else "ETB"
    unit, one, short, status, buffer = run(
        board,
        ["etm reg", "etm reg " + control, "etm reg " + control[3:].lower(), "etm reg %s.STS" % sink, "etm reg " + sink],
    )
    assert unit.startswith(UNIT[board] + "\n")
    assert re.search(r'^also: (SCS, )?(DWT, )?FUNNEL, %s; "etm reg %s" lists one of them$' % (sink, sink), unit, re.M)
    assert re.search(r"PDSR +RO  not read: clears (STICKYPD|Sticky)$", unit, re.M)
    assert re.search(r"^  0x\w+  %s +RW  0x\w{8}" % control, unit, re.M)
    assert re.match(r"%s = 0x\w{8}: 0x0\w\w of %s, read and write\n" % (control, re.escape(UNIT[board])), one)
    assert re.search(r"^  (BB|BranchBroadcast) +\d  +\d  branch broadcast$", one, re.M) and short == one
    assert re.search(r"^  Full +0 +\d$", status, re.M)
    assert re.search(r"^  0x010  RRD +RO  not read: takes a word out of the buffer$", buffer, re.M)


def test_writing_is_kept_and_given_back() -> None:
    parts = run(
        "m33",
        [
            "etm reg TRCVICTLR",
            "etm reg TRCVICTLR EVENT=0 TRCRESET= 0",
            "etm start",
            "etm reg TRCVICTLR EVENT=1",
            "etm diff",
            "etm stop",
            "etm reg /f victlr",
            "etm reg /f",
            "etm start",
            "etm reg TRCVICTLR",
            "etm disconnect",
            CONNECT["m33"].split(" --elf")[0],
        ],
    )
    assert parts[1].splitlines()[0] == "TRCVICTLR = 0x00080200, was 0x00080601"
    assert parts[2].splitlines()[1].startswith("note: as written by hand: TRCVICTLR; ")
    assert parts[3].startswith("TRCVICTLR: the trace unit is on (TRCPRGCTLR.EN is 1, TRCSTATR.IDLE is 0)")
    assert parts[4].startswith("As planned: ")
    assert parts[6] == 'The next "etm start" writes what is planned to: TRCVICTLR\n'
    assert parts[7] == "nothing was written by hand\n" and "note" not in parts[8]
    assert "TRCVICTLR = 0x00000201" in parts[9]


@pytest.mark.parametrize("event, is_traced", [(0, False), (1, True)])
def test_what_was_written_is_what_the_hardware_does(event: int, is_traced: bool) -> None:
    """ViewInst's event is FALSE, and no instruction is traced."""
    *_, halt, history = run("m33", ["etm reg TRCVICTLR EVENT=%d" % event, "etm start", "continue", "etm history"])
    assert "SIGTRAP" in halt
    assert bool(re.search(r"^\d+ +0x", history, re.M)) == is_traced, history


# By board: what is typed, and how the line begins that answers.
REFUSALS = {
    "m33": {
        "etm reg NOSUCH": 'no register NOSUCH; "etm reg" lists them',
        "etm reg TRCVICTRL": "no register TRCVICTRL; is it TRCVICTLR or ",
        "etm reg ETB.STS": "no component ETB on the path; there are SCS, DWT, ETM, FUNNEL, ETF",
        "etm reg TRCVICTLR EVEN=1": "TRCVICTLR has no field EVEN; there are EXLEVEL_NS, ",
        "etm reg TRCVICTLR EVENT=x": 'TRCVICTLR.EVENT: "x" is not a number',
        "etm reg TRCVICTLR EVENT": '"EVENT" is no FIELD=VALUE',
        "etm reg TRCVICTLR EVENT=1 event=2": "EVENT is given twice",
        "etm reg TRCVICTLR=0x100": "TRCVICTLR: the bits 0x100 are reserved",
        "etm reg TRCIDR* X=1": "TRCIDR*: one register at a time is written",
        "etm reg TRCIDR0 RETSTACK=1": "TRCIDR0 can only be read",
        "etm reg TRCACVR0": "TRCACVR0: not in this trace unit (TRCIDR4.NUMACPAIRS is 0)",
        "etm reg TRCTRACEIDR TRACEDATAID=3": "TRCTRACEIDR.TRACEDATAID: not before v4.5, this unit is v4.2",
        "etm plan --data both": "data trace: not in this trace unit (TRCIDR0.TRCDATA is 0)",
    },
    "m4": {
        "etm reg ETMTECR2": "ETMTECR2: not in this trace unit (ETMCCR.AddrPairs is 0)",
        "etm reg ETMCR Prog=0 Stall=1": "ETMCR.Prog must be cleared by itself: write the other fields first",
    },
    "a9": {
        "etm reg ETMLAR KEY=0": "ETMLAR: the session holds the trace unit by it; ",
    },
}


@pytest.mark.sweep
@pytest.mark.parametrize("board", REFUSALS)
def test_refusals_are_one_line(board: str) -> None:
    for output, message in zip(run(board, list(REFUSALS[board])), REFUSALS[board].values()):
        (line,) = output.splitlines()
        assert line.startswith(message)


def test_completion() -> None:
    expected = {
        "etm reg TRCVI": ["etm reg TRCVICTLR", "etm reg TRCVIPCSSCTLR"],
        "etm reg trcsynC": ["etm reg trcsynCPR"],
        "etm reg ETF.ST": ["etm reg ETF.STS"],
        "etm reg FUNNEL.FUN": ["etm reg FUNNEL.FUNNELCONTROL"],
        "etm reg TRCVICTLR TRC": ["etm reg TRCVICTLR TRCERR=", "etm reg TRCVICTLR TRCRESET="],
        "etm reg TRCVICTLR TRCERR=1 TRC": ["etm reg TRCVICTLR TRCERR=1 TRCRESET="],
        "etm plan --cyc": ["etm plan --cycles"],
    }
    found = run("m33", ["complete " + typed for typed in expected])
    assert dict(zip(expected, (output.splitlines() for output in found))) == expected


def test_no_completion_without_a_connection() -> None:
    assert run_gdb(["complete etm reg TRC"]) == ""


@pytest.mark.sweep
@pytest.mark.parametrize(
    "board, words",
    [
        ("m33", ["comparators", "4 processor comparator inputs"]),
        ("m7", ["external inputs", "4 inputs"]),
        ("m4", ["comparators", "4 watchpoint inputs from the DWT's comparators (4 free)"]),
        ("a9", ["sequencer", "3 states"]),
    ],
)
def test_info_in_words(board: str, words: List[str]) -> None:
    short, full = run(board, ["etm info", "etm info /v"])
    rows = [re.split("  +", line.strip()) for line in short.splitlines() if line.startswith("  ")]
    assert words in rows and ["buffer", "%s circular" % ("2 KiB" if board == "m4" else "4 KiB")] == [
        row[0] if n == 0 else row[1].split(",")[0] for row in rows if row[0] == "buffer" for n in (0, 1)
    ]
    assert re.search(r"^    (TRCIDR4.NUMACPAIRS|ETMCCR.AddrPairs)=\d ", full, re.M)
