"""Real GDB sessions: what a halt knows and says of a fault.

The hint for lockup and for other handlers is worked by hand.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Dict

import pytest

from gdb_etm.session.anchor import Anchor
from gdb_etm.session.fault_hint import hint_lines
from gdb_etm.snapshot.reader import read_snapshot
from tests.firmware.crashes.build import elf, ways
from tests.gdb_session import ROOT, run_gdb
from tests.lister import list_packets
from tests.replay.boards import pyocd_server

DEMO = ROOT / "gdb_etm" / "board" / "firmware" / "demo" / "demo.elf"
STATUS = ("shcsr", "cfsr", "hfsr", "dfsr", "mmfar", "bfar")
NULL = 'etm: HardFault (a jump to an even address). "etm fault" says why'
LOCKED = 'etm: lockup (a load or store that the bus refused). "etm fault" says why'
SAYS_WHY = '"etm fault" says why'


def crash(board: str, way: str, *commands: str, enabled: int = 0) -> str:
    """Crash a program; return the output from the crash on."""
    connect = "etm connect board:%s --elf %s" % (board, elf("integers"))
    order = ["set var order.way = %d" % ways()[way], "set var order.enabled = %d" % enabled]
    output = run_gdb([connect, *order, "etm start", "echo >>>\\n", *commands])
    assert "Traceback" not in output and "rror:" not in output, output
    return output.split(">>>\n")[1]


def saved(folder: Path) -> Dict[str, int]:
    """Return the fault status in a snapshot."""
    (capture,) = read_snapshot(str(folder))
    (core,) = [source.core for source in capture.sources if source.core is not None]
    return {name: core.registers[name] for name in STATUS}


@pytest.mark.every_gdb
@pytest.mark.parametrize("board", ["m33", "m7", "m4"])
def test_a_halt_in_a_fault_says_which(board: str, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    output = crash(board, "call_null", "continue", "x/6xw 0xE000ED24", "etm save %s" % folder, "stepi")
    # At each stop there, behind what was traced.
    lines = output.splitlines()
    assert lines.count(NULL) == 2
    assert lines[lines.index(NULL) - 1].startswith("etm: ")
    # OpenCSD lists such a snapshot; it knows no Cortex-M7.
    assert board == "m7" or list_packets(str(folder))
    there = [int(word, 16) for word in re.findall(r"\t(0x\w+)", output)]
    assert saved(folder) == dict(zip(STATUS, there))
    assert there[1] == 0x20000 and there[2] == 1 << 30


def test_where_a_fault_is_not_the_halt_says_nothing() -> None:
    output = crash("m33", "call_null", "break work", "continue", "stepi", "tbreak SysTick_Handler", "continue")
    assert "SysTick_Handler ()" in output and SAYS_WHY not in output


def test_the_setting_and_lazy_draining() -> None:
    output = crash(
        "m33",
        "divide",
        "show etm fault-hint",
        "set etm drain lazy",
        "break UsageFault_Handler",
        "continue",
        "set etm fault-hint off",
        "stepi",
        enabled=0x70000,
    )
    assert [line for line in output.splitlines() if SAYS_WHY in line] == [
        'etm: UsageFault (a division by zero). "etm fault" says why'
    ]


def test_gdbs_own_connection(tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    with pyocd_server(board="m33") as port:
        output = run_gdb(
            ["file %s" % DEMO, "target extended-remote localhost:%d" % port, "etm connect target", "etm start"]
            + ["continue", "x/6xw 0xE000ED24", "etm save %s" % folder]
        )
    assert 'etm: HardFault (a jump to where no code is). "etm fault" says why\n' in output
    assert list(saved(folder).values()) == [int(word, 16) for word in re.findall(r"\t(0x\w+)", output)]


@pytest.mark.parametrize("number, says", [(0, False), (2, False), (3, True), (7, True), (11, False), (16, False)])
def test_only_the_handlers_of_faults_have_a_line(number: int, says: bool) -> None:
    """IPSR is bits 8:0 of XPSR (DDI 0553, B3.8)."""
    halt = Anchor({"xpsr": 0x01000000 | number, "cfsr": 0x20000, "hfsr": 1 << 30})
    assert bool(list(hint_lines(halt, {}))) == says
    assert list(hint_lines(halt, {"fault-hint": "off"})) == []
    assert list(hint_lines(Anchor({"cpsr": number}), {})) == list(hint_lines(None, {})) == []


@pytest.mark.parametrize(
    "mode, says",
    [(0x17, "etm: Abort mode (a prefetch or data abort). "), (0x1B, "etm: Undefined mode (an undefined instruction). ")]
    + [(mode, "") for mode in (0x10, 0x11, 0x12, 0x13, 0x16, 0x1A, 0x1F)],
)
def test_the_modes_for_aborts_have_a_line(mode: int, says: str) -> None:
    """CPSR.M is bits 4:0 (DDI 0406C, B1.3.1, table B1-1)."""
    halt = Anchor({"cpsr": 0x600001C0 | mode, "pc": 0x20000010})
    assert list(hint_lines(halt, {})) == ([says + SAYS_WHY] if says else [])
    assert list(hint_lines(halt, {"fault-hint": "off"})) == []


@pytest.mark.parametrize("number", [2, 3])
def test_lockup_has_a_line(number: int) -> None:
    registers = {"xpsr": number, "pc": 0xEFFFFFFE, "cfsr": 0x8200, "hfsr": 1 << 30, "bfar": 4}
    assert list(hint_lines(Anchor(registers), {})) == [LOCKED]


def loaded(*commands: str) -> str:
    """Load a program into a blank board; return the output afterwards."""
    output = run_gdb(["file %s" % DEMO, "etm connect board:m33", "load", "echo >>>\\n", *commands])
    assert "Traceback" not in output, output
    return output.split(">>>\n")[1]


def test_where_a_trace_begins_the_registers_are_those_of_a_reset_before() -> None:
    # GDB does not notice what its server did for "monitor".
    output = loaded("monitor reset halt", "etm start", "p $sp == *(unsigned *) 0", "p $pc == *(unsigned *) 4 - 1")
    assert "$1 = 1" in output and "$2 = 1" in output, output


def test_a_stack_that_never_was_has_not_grown() -> None:
    lost = ["monitor reset halt", "tbreak main", "continue", "set var $sp = 0xfffffffc"]
    output = loaded(*lost, "etm start", "continue", "etm fault")
    (verdict,) = [line for line in output.splitlines() if line.startswith("==>")]
    assert "the store's address 0xfffff" in output and "grows" not in verdict, output
