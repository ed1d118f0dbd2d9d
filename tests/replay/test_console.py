"""Worked by hand: what a replay writes on GDB's console."""

from __future__ import annotations

from gdb_etm.replay.console import console, monitor_reply


def test_a_name_is_no_command_to_the_terminal() -> None:
    name, shown = "f\x1b[2J\x9b1m\u00e4", "f?[2J?1m\u00e4\n".encode()
    assert console(name) == b"O" + shown.hex().encode()
    assert monitor_reply([name, name]) == 2 * shown.hex().encode()
