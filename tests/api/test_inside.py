"""Real GDB session: scripts share the session of the commands."""

from __future__ import annotations

from pathlib import Path
from typing import Sequence

import pytest

from tests.access.processes import DEMO
from tests.gdb_session import ROOT, run_gdb
from tests.gdb_texts import no_breakpoints, python_errors

pytest.importorskip("unicorn")

CONNECT = "etm connect board:m33 --elf %s" % DEMO


def run(commands: Sequence[str]) -> str:
    """Run GDB commands; no traceback may come."""
    output = run_gdb(commands)
    assert "Traceback" not in output, output
    return output


def test_a_script_sees_what_the_commands_did_and_they_see_what_it_did(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import gdb_etm\n"
        "session = gdb_etm.current()\n"
        "print('STOP', session.run_to('dispatch'))\n"
        "with session.breakpoint('HardFault_Handler') as fault:\n"
        "    print('AT', hex(fault.address), session.run().function)\n"
        "print('HAS', [capture.number for capture in session.captures], len(session.capture().history()))\n"
        "print('ALL', len(session.history()) > len(session.capture().history()))\n"
        "print('LAST', [call.name for call in session.capture().history().functions(-1)])\n"
        "print('TEXT', session.capture().history().text(session.capture().history().instruction(1)))\n"
    )
    output = run([CONNECT, "etm start", "source %s" % script, "etm captures", "info breakpoints", "etm disconnect"])
    assert "STOP Stop(address=752, function='dispatch', timed_out=False)\n" in output
    assert "AT 0x598 HardFault_Handler\n" in output and "HAS [1, 2] " in output
    assert "ALL True" in output and "LAST ['HardFault (exception 3)']" in output
    rows = [line for line in output.splitlines() if "  halt in " in line]
    assert [row.partition("halt in ")[2].split()[0] for row in rows] == ["dispatch", "HardFault_Handler"]
    assert rows[1].startswith("* 2 ")
    assert no_breakpoints() in output


def test_commands_see_what_a_script_connected() -> None:
    lines = (
        "python import gdb_etm",
        "python session = gdb_etm.connect('board:m33', elf=%r)" % str(DEMO),
        "python session.configure(cycles=32); print('PLANNED', session.plan().value('TRCCCCTLR'))",
        "python from gdb_etm.api.request import addresses, ranges; places = session._session.locations",
        "python print('INCLUDED', ranges('parse', places), addresses('parse', places))",
        "python session.start()",
        "etm status",
        "python print('ON', session.command('status')[0])",
        "python session.close()",
        "etm status",
    )
    output = run(lines)
    assert "PLANNED 32\n" in output and "tracing is on" in output
    assert "ON Connected to Cortex-M33 r0p4, tracing is on; " in output
    last = output.splitlines()[-1]
    assert "ot connected" in last or "ot connected" in output[output.index("ON ") :]


ERRORS = [
    ("gdb_etm.connect('here')", 'CommandError: "here" is none of'),
    ("gdb_etm.current().plan()", "CommandError: not connected to a trace unit"),
    ("gdb_etm.current().run()", "CommandError: The program is not being run"),
    ("gdb_etm.current().run(1)", "CommandError: seconds: GDB itself waits for the halt"),
    ("gdb_etm.current().breakpoint('nowhere')", "CommandError: "),
    ("gdb_etm.load('/nowhere')", "MissingFile: /nowhere/snapshot.ini: no such file"),
]


def test_errors_are_one_line() -> None:
    output = run_gdb(["python import gdb_etm", *("python %s" % statement for statement, _ in ERRORS)])
    told = python_errors(output)
    assert len(told) == len(ERRORS), output
    for line, (statement, words) in zip(told, ERRORS):
        assert line.startswith(words), statement


def test_a_snapshot_is_loaded_beside_the_others(tmp_path: Path) -> None:
    script = (
        "python import gdb_etm; saved = gdb_etm.current().capture(); saved.save('%s'); "
        "(loaded,) = gdb_etm.load('%s'); print('SAME', len(loaded.history()) == len(saved.history()))"
    ) % (tmp_path / "snap", tmp_path / "snap")
    output = run([CONNECT, "etm start", "tbreak dispatch", "continue", script, "etm captures"])
    assert "SAME True" in output and "loaded from %s" % (tmp_path / "snap") in output


def test_resetting_begins_anew() -> None:
    output = run(
        [
            CONNECT,
            "python import gdb_etm; session = gdb_etm.current(); session.run_to('dispatch')",
            "python print('RESET', session.reset())",
            "python print('AGAIN', session.run_to('main').function)",
        ]
    )
    assert "RESET Stop(address=" in output and "function='Reset_Handler'" in output and "AGAIN main" in output


def test_the_import_alone_makes_the_commands() -> None:
    libraries = [str(path) for path in ROOT.glob(".venv/lib/python3*/site-packages")]
    lines = (
        "python import sys; sys.path[:0] = %r" % ([str(ROOT)] + libraries),
        "python import gdb_etm; print('FOUND', gdb_etm.current())",
        "etm status",
    )
    output = run_gdb(lines, source=False)
    assert "FOUND <Session: not connected>" in output and "Traceback" not in output
    assert 'Undefined command: "etm"' not in output
