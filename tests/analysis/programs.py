"""Programs run on the board, with what really ran."""

from __future__ import annotations

import os
from functools import lru_cache
from typing import Iterable, List, NamedTuple, Tuple

from gdb_etm.analysis.counts import ExecutionCounts
from gdb_etm.history.calls import CallHistory, call_history
from gdb_etm.history.exits import Exits
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.offline.program_sources import ProgramSources
from tests.history.executed import Item, history_of, run_on_board

FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "firmware")
PROGRAMS = ("branches", "interrupts", "sort", "steps", "tables", "transfers")


class Ran(NamedTuple):
    """A program that ran."""

    path: str
    # What ran, by the board.
    items: Tuple[Item, ...]
    history: ExecutionHistory
    calls: CallHistory
    sources: ProgramSources

    @property
    def addresses(self) -> List[int]:
        """The executed instructions."""
        return [item for item in self.items if isinstance(item, int)]


@lru_cache(maxsize=None)
def ran(program: str) -> Ran:
    """Run a program once."""
    path = os.path.join(FOLDER, program + ".elf")
    items = run_on_board(path)
    history = history_of(path, items)
    sources = ProgramSources([path])
    calls = call_history(history, sources.function_at, Exits(history.program))
    return Ran(path, tuple(items), history, calls, sources)


def count(histories: Iterable[ExecutionHistory]) -> ExecutionCounts:
    """Count what some histories of the same program hold."""
    counts = ExecutionCounts()
    for history in histories:
        counts.add(history)
    return counts
