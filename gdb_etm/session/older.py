"""Counts of recorded pieces that are beyond the history's limit."""

from __future__ import annotations

from typing import Dict, Optional, Tuple

from gdb_etm.analysis.counts import ExecutionCounts
from gdb_etm.analysis.profile import CallProfile
from gdb_etm.session.analysed import CYCLES, INSTRUCTIONS, profile_of
from gdb_etm.session.debugger import Debugger
from gdb_etm.session.decoded import Decoded

Identity = Tuple[Tuple[int, bytes], ...]


class OlderPieces:
    """Counts and profiles of what the history held before, by trace ID.

    :param debugger: Finds functions.
    """

    def __init__(self, debugger: Debugger) -> None:
        self._debugger = debugger
        # Which program they are of.
        self._program: Optional[Identity] = None
        self._counts: Dict[int, ExecutionCounts] = {}
        self._profiles: Dict[Tuple[int, str], CallProfile] = {}

    def add(self, decoded: Decoded) -> None:
        """Add what is about to be left out."""
        if not len(decoded.history):
            return
        if self._program != decoded.program.identity():
            self._program = decoded.program.identity()
            self._counts.clear()
            self._profiles.clear()
        self._counts.setdefault(decoded.trace_id, ExecutionCounts()).add(decoded.history)
        for unit in (INSTRUCTIONS, CYCLES) if decoded.clock.has_cycles else (INSTRUCTIONS,):
            profile = self._profiles.setdefault((decoded.trace_id, unit), CallProfile(unit))
            profile.merge(profile_of(self._debugger, decoded, unit))

    def counts(self, newer: Decoded) -> ExecutionCounts:
        """Give the counts of what came before a history."""
        found = self._counts.get(newer.trace_id) if self._is_of(newer) else None
        return found or ExecutionCounts()

    def profile(self, newer: Decoded, unit: str) -> CallProfile:
        """Give the profile of what came before a history."""
        found = self._profiles.get((newer.trace_id, unit)) if self._is_of(newer) else None
        return found or CallProfile(unit)

    def _is_of(self, newer: Decoded) -> bool:
        return self._program == newer.program.identity()
