"""PTM trace and the program to an execution: ranges of instructions, and events.

Ref: CoreSight Program Flow Trace Architecture Specification PFTv1.0 and PFTv1.1 (IHI 0035B), chapter 4 and appendix B.

Atom packets and branch packets that are nothing but an address are followed by the automaton, eight bytes a look-up.
All others, and everything that cannot be followed, go through one handler for each kind of packet.
"""

from __future__ import annotations

from typing import Callable

from gdb_etm.program.image import Program
from gdb_etm.protocols.armv7.fast_path import FollowedStream, StreamDecoder
from gdb_etm.protocols.armv7.fields import ASYNC
from gdb_etm.protocols.armv7.transition_cache import TransitionCaches
from gdb_etm.protocols.ptm.automaton import PtmAutomaton
from gdb_etm.protocols.ptm.config import PtmConfig
from gdb_etm.protocols.ptm.execution import PtmExecution
from gdb_etm.protocols.ptm.handlers import Handlers, PacketContext
from gdb_etm.protocols.ptm.headers import build_table, packet_kind
from gdb_etm.protocols.ptm.packets import Header, Kind
from gdb_etm.protocols.recorder import Recorder
from gdb_etm.protocols.stream import Form

# After an A-sync packet every packet can be told from the next.
FORM = Form(ASYNC, Kind.ASYNC, Kind.ASYNC, Kind.RESERVED)
# Packets of which state and packet context decide what they do; time goes on.
REMEMBERED = frozenset(
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

    def begin(self, offset_of: Callable[[int], int]) -> "Decoding":
        """Begin a stream; see :class:`StreamDecoder`."""
        return Decoding(self, offset_of)


class Decoding(FollowedStream[Header, Kind]):
    """One stream being decoded; its bytes may be fed in any split."""

    def __init__(self, decoder: Decoder, offset_of: Callable[[int], int]) -> None:
        execution = PtmExecution(decoder.automaton, Recorder(decoder.automaton.runs, offset_of))
        self._handlers = Handlers(decoder.config, decoder.automaton, execution)
        time = Kind.TIMESTAMP, self._handlers.timestamp
        known = decoder.automaton, execution, decoder.caches
        super().__init__(FORM, decoder.table, packet_kind, *known, REMEMBERED, time)

    def finish(self) -> Recorder:
        """End the stream and give what was recorded."""
        self._end()
        return self.recorder

    def _handle(self, kind: Kind, data: bytes, at: int, position: int) -> None:
        self._handlers.handle(kind, data, at, position)

    def _packet_context(self) -> PacketContext:
        return self._handlers.packet_context()

    def _resume(self, packet_context: PacketContext) -> None:
        self._handlers.resume(packet_context)

    def _bad(self, position: int, detail: str) -> None:
        super()._bad(position, detail)
        self._handlers.lose()
