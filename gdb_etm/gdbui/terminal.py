"""GDB's terminal: a user at it, and a free line."""

from __future__ import annotations

import os

import gdb


class Terminal:
    """Detector of a user at GDB's terminal, and of a free line.

    GDB shows its own progress under the same conditions.  A prompt means that a person uses it: a batch and a
    program that talks MI get none.
    """

    def __init__(self) -> None:
        self._prompted = False
        gdb.events.before_prompt.connect(self._on_prompt)

    def _on_prompt(self) -> None:
        self._prompted = True

    def is_free(self) -> bool:
        """Whether a line may be shown that vanishes."""
        if not self._prompted or not os.isatty(0):
            return False
        try:
            return "not active" in gdb.execute("info win", False, True)
        except gdb.error:
            return True  # this GDB was built without TUI
