"""GDB's terminal, as far as a progress line is concerned."""

from __future__ import annotations

import os
import sys

import gdb

from gdb_etm.session.progress import TerminalLine


class Terminal:
    """Tells whether somebody watches GDB's terminal, and whether a line there disturbs nothing.

    GDB shows its own progress under the same conditions.  Its prompt tells a person from a batch and from a program
    that talks MI: these get none.
    """

    def __init__(self) -> None:
        self._prompted = False
        gdb.events.before_prompt.connect(self._on_prompt)

    def line(self) -> TerminalLine:
        """Give the line to show progress on."""
        return TerminalLine(sys.__stderr__, self._is_free)

    def _on_prompt(self) -> None:
        self._prompted = True

    def _is_free(self) -> bool:
        if not self._prompted or not os.isatty(0):
            return False
        try:
            return "not active" in gdb.execute("info win", False, True)
        except gdb.error:
            return True  # this GDB was built without TUI
