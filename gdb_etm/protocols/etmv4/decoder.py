"""ETMv4 decoder: instruction trace and program to an execution.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), chapter 5
"Instruction trace analysis" and chapter 6.

Atoms and addresses are followed by the automaton, some ten bytes a look-up, and what repeats some hundred bytes a
look-up (``fast_path.py``).  All other packets, and everything that cannot be followed, go through handlers, one for
each kind of packet.

Modules that only some units need are imported when one is met: importing all takes longer than decoding most captures.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Callable, Optional, Sequence

from gdb_etm.program.accesses import Access
from gdb_etm.program.blocks import Blocks
from gdb_etm.program.image import Program
from gdb_etm.protocols.elements import Gap, GapReason
from gdb_etm.protocols.etmv4.automaton import Automaton
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.execution import Execution
from gdb_etm.protocols.etmv4.fast_path import Follower, TransitionCaches
from gdb_etm.protocols.etmv4.handlers import Handlers
from gdb_etm.protocols.etmv4.headers import build_table, packet_kind
from gdb_etm.protocols.etmv4.log import Log
from gdb_etm.protocols.etmv4.packets import FORM, Kind
from gdb_etm.protocols.etmv4.reserved import reserved_field
from gdb_etm.protocols.etmv4.transitions import TransitionFinder
from gdb_etm.protocols.garbage import garbage_uncollected
from gdb_etm.protocols.recorder import Recorder
from gdb_etm.protocols.stream import PacketStream, feed_pieces

if TYPE_CHECKING:
    from gdb_etm.protocols.etmv4.data.elements import DataElement
    from gdb_etm.protocols.etmv4.speculation import Speculation


class Decoder:
    """Decoder for the streams of one trace unit.

    :param config: The unit's configuration.
    :param program: The program that the core ran.
    """

    def __init__(self, config: Etmv4Config, program: Program) -> None:
        self.config = config
        self.table = build_table(config)
        transfers = (Access.LOAD if config.loads else Access.NONE) | (Access.STORE if config.stores else Access.NONE)
        blocks = Blocks(program, config.waits, config.futures, transfers)
        self.automaton = Automaton(blocks, config.return_stack)
        self.transitions = TransitionFinder(self.automaton)
        self.caches = TransitionCaches()

    def begin(self, offset_of: Callable[[int], int]) -> "Decoding":
        """Begin a stream.

        :param offset_of: Maps a position in the stream to an offset in the capture's buffer.
        """
        return Decoding(self, offset_of)

    def decode(
        self,
        data: bytes,
        offset_of: Callable[[int], int],
        progress: Optional[Callable[[int], None]] = None,
        before: Sequence[Gap] = (),
        transfers: Optional[Sequence[DataElement]] = None,
    ) -> Recorder:
        """Decode a whole stream.

        :param progress: Called now and then with the number of bytes decoded since it was called last; what it raises
            ends the work, and this decoder must not be used again.
        :param before: What is known to be missing before the stream.
        :param transfers: The elements of the data stream beside it; None where there is none.
        """
        decoding = self.begin(offset_of)
        for gap in before:
            decoding.recorder.event(gap)
        with garbage_uncollected():
            feed_pieces(decoding.feed, data, progress)
            return decoding.finish(transfers)


class Decoding(PacketStream[Kind]):
    """One stream being decoded; its bytes may be fed in any split."""

    def __init__(self, decoder: Decoder, offset_of: Callable[[int], int]) -> None:
        super().__init__(FORM, decoder.table, partial(packet_kind, config=decoder.config))
        self._config = decoder.config
        self._automaton = decoder.automaton
        self.recorder = Recorder(decoder.automaton.runs, offset_of)
        config = decoder.config
        # What the analysis of data and of conditional instructions needs of this stream; None when it has neither.
        self.log = Log() if config.data_trace or config.conditional else None
        self._execution = Execution(decoder.automaton, self.recorder, config.m_profile, self.log)
        self._speculation: Optional[Speculation] = None
        if config.max_speculation or self.log is not None:
            from gdb_etm.protocols.etmv4 import speculation

            self._speculation = speculation.Speculation(config, self._execution, self.log)
        self._handlers = Handlers(config, self._execution, self._speculation, self.log)
        self._follower = Follower(
            decoder.automaton, decoder.transitions, decoder.caches, self._execution, self._handlers, decoder.table
        )

    def feed(self, data: bytes) -> None:
        """Take the next bytes; a packet that is not whole waits."""
        data = self._rest + bytes(data) if self._rest else bytes(data)
        at = 0
        end = len(data)
        while at < end or self._execution.state.pending:
            if self._hunting:
                at = self._hunt(data, at, end)
                if self._hunting:
                    break
            following = self._next(data, at, end)
            if following == at and not self._execution.state.pending:
                break
            at = following
        self._rest = data[at:]
        self._base += at

    def finish(self, transfers: Optional[Sequence[DataElement]] = None) -> Recorder:
        """End the stream and give the recording.

        :param transfers: The elements of the data stream beside it; None where there is none.
        """
        if self._speculation is not None:
            self._speculation.end(self._base)
        self._end()
        if self.log is not None and self._config.conditional:
            from gdb_etm.protocols.etmv4.outcomes import match_conditions

            match_conditions(self.recorder, self.log.conditions, self._automaton.blocks, self._config)
        if self.log is not None and transfers is not None:
            from gdb_etm.protocols.etmv4.data.transfers import put_transfers

            put_transfers(self.recorder, self.log, transfers, self._config, self._automaton.blocks)
        if self._execution.marked:
            # Last, because it moves the events that the log refers to.
            self.recorder.insert_at(self._execution.marked)
        return self.recorder

    def _may_follow(self) -> bool:
        # Remembered transitions are of no use where atoms are not certain yet, or where each is needed by itself.
        certain = self._speculation is None and self._execution.context is not None
        return certain and self._informed and not self._execution.refused

    def _next(self, data: bytes, at: int, end: int) -> int:
        # Follows what is remembered, then handles a packet; returns the index after that.
        if not self._may_follow():
            return self._packet(data, at, end)
        at = self._follower.follow(data, at, end, self._base)
        while self._execution.state.pending:
            self._follow_pending(at)
            at = self._follower.follow(data, at, end, self._base)
        return self._follower.handle(data, at, end, self._packet) if at < end else at

    def _handle(self, kind: Kind, data: bytes, at: int, position: int) -> None:
        field = reserved_field(kind, data, at, self._config)
        if not field:
            self._handlers.handle(kind, data, at, position)
        elif not self._handlers.handle_reserved(kind, data, at, position, field):
            self._informed = False

    def _gap(self, position: int, reason: GapReason, detail: str) -> None:
        self._execution.gap(position, reason, detail)

    def _bad(self, position: int, detail: str) -> None:
        elements = self._execution if self._speculation is None else self._speculation
        elements.lose(position, GapReason.BAD_PACKET, detail)

    def _follow_pending(self, at: int) -> None:
        # Follows the atoms left over of the packet before ``at`` one by one.
        state = self._execution.state
        self._execution.set(state.point)
        self._execution.atoms(state.pending, self._base + at - 1)
