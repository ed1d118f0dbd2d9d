"""Counts and profiles of the history, with what was recorded before."""

from __future__ import annotations

from gdb_etm.analysis.counts import ExecutionCounts
from gdb_etm.analysis.profile import CallProfile
from gdb_etm.session.analysed import count_all, profile_of
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.session import DebugSession

# The setting.
COUNTS = "counts"


def counts_shown(session: DebugSession, decoded: Decoded) -> ExecutionCounts:
    """Count what a history holds, and what was recorded before.

    :raises CommandError: It holds nothing.
    """
    counts = count_all([decoded])
    if session.joined is not None and session.joined.has_made(decoded):
        counts.merge(session.joined.older.counts(decoded))
    return counts


def profile_shown(session: DebugSession, decoded: Decoded, unit: str) -> CallProfile:
    """Profile a history, and what was recorded before.

    :param unit: ``"instructions"`` or ``"cycles"``.
    :raises CommandError: Cycles are wanted and were not traced, or there are no instructions.
    """
    profile = CallProfile(unit)
    profile.merge(profile_of(session.debugger, decoded, unit))
    if session.joined is not None and session.joined.has_made(decoded):
        profile.merge(session.joined.older.profile(decoded, unit))
    return profile
