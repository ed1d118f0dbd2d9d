"""Histories whose facts contradict each other: others than the core wrote memory.

Without what the memory held the facts fit; then it is seen which addresses were given to devices, and those alone are
taken to be others'.
"""

from __future__ import annotations

from typing import Optional, Tuple

from gdb_etm.diagnosis.scene import Scene
from gdb_etm.diagnosis.transfers import regions, transfers
from gdb_etm.program.ram import Piece
from gdb_etm.replay.reliance import reliance_of
from gdb_etm.session.captures import Decoded
from gdb_etm.session.recovered import Recovered, Watch
from gdb_etm.session.recovery_inputs import recovery_of
from gdb_etm.session.scenes import scene_for
from gdb_etm.session.session import DebugSession

# More pieces of memory are as good as all of it.
_MOST = 64


def with_masters(session: DebugSession, decoded: Decoded, known: Recovered) -> Optional[Recovered]:
    """Work a history out anew with memory that others write.

    :returns: None where its facts do not contradict each other, or do so in any case.
    :raises Interrupted: By Ctrl-C.
    """
    last = len(decoded.history)
    if known.recovery.origins(last) is not None:
        return None
    whole, scene = _worked_out(session, decoded, known.recovery.rules.ram)
    if scene is None:
        return None
    pieces = regions(transfers(scene))
    if not 0 < len(pieces) <= _MOST:
        return whole
    narrow, scene = _worked_out(session, decoded, pieces)
    return whole if scene is None else narrow


def _worked_out(
    session: DebugSession, decoded: Decoded, volatile: Tuple[Piece, ...]
) -> Tuple[Recovered, Optional[Scene]]:
    reliance = reliance_of(session.settings)
    reliance = reliance._replace(volatile=(*reliance.volatile, *volatile))
    files, watch = tuple(session.debugger.program_files()), Watch(session.background)
    recovery = recovery_of(decoded, files, reliance, watch)
    found = Recovered(recovery, (reliance, files), watch, session.background)
    last = len(decoded.history)
    with found.solved(last + 1, session.meter):
        is_known = recovery.origins(last) is not None
        return found, scene_for(session, decoded, found) if is_known else None
