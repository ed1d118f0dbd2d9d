"""Real GDB session: walking back through the demo.

Compared with the board's truth and GDB's symbol tables.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Dict, List

import pytest

from tests.firmware.build import elf
from tests.gdbui.test_board import CONNECT, run

pytestmark = pytest.mark.every_gdb

COMMANDS = (
    "print $etm_index == $etm_count + 1",
    "etm where",
    "etm backtrace",
    "etm reverse-step",
    "etm up",
    "etm down",
    "etm list",
    "etm reverse-stepi",
    "etm stepi",
    "etm last parse_values",
    "etm finish",
    "etm undo",
    "etm mark corrupted",
    "etm mark",
    "etm goto begin",
    "etm goto corrupted",
    "etm goto 50%",
    "etm goto -1",
    "etm goto 18,000",
    "etm goto end",
    "etm step",
    "etm reverse-continue",
    "break crc16",
    "etm goto end ",
    "etm reverse-continue ",
    "etm reverse-finish",
    "etm next-hit crc16",
    "print $etm_pc",
    'print $_etm_calls("dispatch")',
    "etm functions /c -3",
    "etm continue",
)


@pytest.fixture(scope="module")
def session() -> Dict[str, List[str]]:
    """What each command printed."""
    marked = ["set etm reverse off", CONNECT, "etm start", "continue"]
    for number, command in enumerate(COMMANDS):
        marked += ["echo >>>%d\\n" % number, command]
    parts = re.split(r">>>\d+\n", run(marked))[1:]
    assert len(parts) == len(COMMANDS)
    return {command: part.splitlines() for command, part in zip(COMMANDS, parts)}


def test_it_begins_where_the_target_is_halted(session: Dict[str, List[str]]) -> None:
    assert session["etm where"][0] == "#0  HardFault_Handler () at faults.c:4"
    assert re.match(r"after instruction [\d,]+, the last$", session["etm where"][2])


def test_backtrace_goes_through_the_exception(session: Dict[str, List[str]]) -> None:
    assert session["etm backtrace"] == [
        "#0  HardFault_Handler () at faults.c:4",
        "#1  <HardFault (exception 3)>",
        "#2  dispatch (message=0x2007ffe4) at rx.c:121",
        "#3  0x000000da in main () at main.c:22   [called before the history begins]",
    ]


def test_reverse_step_leads_to_the_call_that_faulted(session: Dict[str, List[str]]) -> None:
    assert session["etm reverse-step"] == ["dispatch (...) at rx.c:121", "121\t    subscription->handler(message);"]
    assert session["etm up"][0] == "#1  0x000000da in main () at main.c:22"
    assert session["etm down"] == ["#0  dispatch (...) at rx.c:121", "121\t    subscription->handler(message);"]
    assert session["etm list"][4:6] == [
        "   120\t    ++subscription->delivered;",
        "=> 121\t    subscription->handler(message);",
    ]
    assert len(session["etm list"]) == 7


def test_last_run_of_the_function_that_overran(session: Dict[str, List[str]]) -> None:
    assert session["etm last parse_values"][:2] == ["#0  parse_values (...) at rx.c:78", "78\t{"]
    assert session["etm finish"][0] == "Run till exit from #0  parse_values (...) at rx.c:78"
    assert re.match(r"(0x[0-9a-f]{8} in )?parse \(\.\.\.\) at rx\.c:107$", session["etm finish"][1])
    assert session["etm undo"][:2] == session["etm last parse_values"][:2]
    assert session["etm goto corrupted"][:2] == session["etm last parse_values"][:2]
    assert session["etm mark"][0].startswith("corrupted  ")


def test_ends_are_told_with_their_reasons(session: Dict[str, List[str]]) -> None:
    assert session["etm goto begin"][-1].startswith("instruction 1 of ")
    assert session["etm step"][:3] == [
        "",
        "No more reverse-execution history.",
        "[the live end: here the target is halted]",
    ]
    assert session["etm reverse-continue"][:3] == [
        "",
        "No more reverse-execution history.",
        "[the buffer wrapped here: what ran before was overwritten]",
    ]


def test_reverse_continue_stops_at_gdbs_breakpoints(session: Dict[str, List[str]]) -> None:
    assert session["etm reverse-continue "][:3] == ["", "Breakpoint 1, crc16 (...) at app.c:62", "62\t{"]
    assert session["etm reverse-finish"][0] == "Run back to call of #0  crc16 (...) at app.c:62"
    assert "report () at app.c:" in session["etm reverse-finish"][1]
    assert session["etm next-hit crc16"][0] == "#0  crc16 (...) at app.c:62"
    assert session["print $etm_index == $etm_count + 1"] == ["$1 = 1"]
    assert session["print $etm_pc"] == ["$2 = 890"]
    assert int(session['print $_etm_calls("dispatch")'][0].split("= ")[1]) > 0


def test_mistakes_get_one_line() -> None:
    output = run(["etm where", CONNECT, "etm start", "stepi", "etm goto 7", "etm goto nosuch", "etm last report"])
    assert "nothing captured: not connected" in output
    assert "7 is outside the history: the instructions are numbered 1 to 1" in output
    assert "report did not run before here, as far as the history goes" in output


@pytest.mark.skipif(shutil.which("arm-none-eabi-objcopy") is None, reason="no arm-none-eabi-objcopy")
def test_code_without_lines_is_left_as_gdb_leaves_it(tmp_path: Path) -> None:
    # The assembler functions of "branches" have lines, those of a stripped copy only symbols.
    stripped = tmp_path / "stripped.elf"
    subprocess.run(["arm-none-eabi-objcopy", "--strip-debug", elf("branches"), str(stripped)], check=True)
    connect = "etm connect board:m33 --option board.elf=%s --elf %s" % (stripped, stripped)
    output = run([connect, "etm start", "continue", "etm goto 1000", "etm where", "etm reverse-next", "etm step"])
    lines = output.splitlines()
    assert "which has no line number information." in lines
    where = next(line for line in lines if line.startswith("#0"))
    assert re.match(r"#0  0x[0-9a-f]{8} in \w+ \(\)$", where)
    function = where.split()[3]
    assert "Single stepping until exit from function %s," % function in lines


def test_ctrl_c_ends_a_long_run_and_leaves_the_cursor() -> None:
    # A real signal, sent in the middle of the run.
    watch = (
        "python import os, signal, gdb_etm.history.stepper as stepper; plain = stepper.plain_step; calls = []; "
        "stepper.plain_step = lambda *a: (calls.append(1), len(calls) == 500 and os.kill(os.getpid(), signal.SIGINT), "
        "plain(*a))[2]"
    )
    begin = ["set etm reverse off", CONNECT, "etm start", "continue", "etm goto -5", watch]
    output = run([*begin, "etm reverse-stepi 10000", "etm where", "etm undo"])
    lines = output.splitlines()
    here = next(line for line in lines if line.startswith("instruction "))
    assert "Quit" in lines
    assert lines[lines.index("Quit") + 1 :].count(here) == 1
    assert [line for line in lines if line.startswith(("instruction ", "after "))] == [here, here, lines[-2]]
    assert lines[-2].startswith("after instruction ")
