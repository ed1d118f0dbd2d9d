"""PTM decoder: trace and program to an execution.

Ref: CoreSight Program Flow Trace Architecture Specification PFTv1.0 and PFTv1.1 (IHI 0035B), chapter 4 and appendix B.

Atom packets and branch packets that are nothing but an address are followed by the automaton, some ten bytes a look-up.
All others, and everything that cannot be followed, go through one handler for each kind of packet.
"""

from __future__ import annotations

from typing import Callable, Final

from gdb_etm.program.image import Program
from gdb_etm.protocols.armv7.fast_path import FollowedStream, StreamDecoder
from gdb_etm.protocols.armv7.fields import ASYNC
from gdb_etm.protocols.armv7.transition_cache import TransitionCaches
from gdb_etm.protocols.ptm.automaton import PtmAutomaton
from gdb_etm.protocols.ptm.config import PtmConfig
from gdb_etm.protocols.ptm.execution import PtmExecution
from gdb_etm.protocols.ptm.handlers import PtmHandlers
from gdb_etm.protocols.ptm.headers import build_table
from gdb_etm.protocols.ptm.packets import Kind
from gdb_etm.protocols.recorder import Recorder
from gdb_etm.protocols.stream import Form

# From an A-sync packet on it is known where each packet begins.
FORM: Final = Form(ASYNC, Kind.ASYNC, Kind.ASYNC, Kind.RESERVED)
# Packets whose effect is decided by state and packet context; time is not.
REMEMBERED: Final = frozenset(
    (
        Kind.ASYNC,
        Kind.IGNORE,
        Kind.ATOM,
        Kind.BRANCH,
        Kind.ISYNC,
        Kind.WAYPOINT_UPDATE,
        Kind.TRIGGER,
        Kind.CONTEXT_ID,
        Kind.VMID,
        Kind.EXCEPTION_RETURN,
    )
)


class Decoder(StreamDecoder):
    """Decodes streams of one PTM.

    :param config: The unit's configuration.
    :param program: The program that the core ran.
    """

    def __init__(self, config: PtmConfig, program: Program) -> None:
        self.config = config
        self.table = build_table(config)
        self.automaton = PtmAutomaton(program, self.table, config)
        self.caches = TransitionCaches()

    def begin(self, offset_of: Callable[[int], int]) -> FollowedStream[Kind]:
        """Begin a stream; see :class:`StreamDecoder`."""
        execution = PtmExecution(self.automaton, Recorder(self.automaton.runs, offset_of))
        handlers = PtmHandlers(self.config, self.automaton, execution)
        return FollowedStream(FORM, self.table, handlers, self.caches, REMEMBERED, Kind.TIMESTAMP)
