"""ETMv4 instruction trace and the program to an execution: ranges of instructions, and events.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), chapter 5
"Instruction trace analysis" and chapter 6.

Packets that only say where the program went (atoms and short addresses) are followed by the automaton, eight
bytes a look-up.  All others, and everything that cannot be followed, go through one handler for each kind of packet.
"""

from __future__ import annotations

import gc
from typing import Callable, Optional

from gdb_etm.program.blocks import Blocks
from gdb_etm.program.image import Program
from gdb_etm.protocols.elements import GapReason
from gdb_etm.protocols.etmv4.automaton import WINDOW, Automaton
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.execution import Execution
from gdb_etm.protocols.etmv4.handlers import Handlers
from gdb_etm.protocols.etmv4.headers import build_table, packet_kind
from gdb_etm.protocols.etmv4.packets import ASYNC, ATOMS, Kind
from gdb_etm.protocols.etmv4.places import AFTER_BRANCH, STACK_DEPTH
from gdb_etm.protocols.recorder import Recorder

_PIECE = 1 << 18
# Bytes fed at a time, so that somebody who waits can be told how far it is.


class Decoder:
    """Decodes streams of one trace unit; what it learns of the program serves every later stream.

    :param config: The unit's configuration.
    :param program: The program that the core ran.
    """

    def __init__(self, config: Etmv4Config, program: Program) -> None:
        self.config = config
        self.table = build_table(config)
        blocks = Blocks(program, config.waits, config.futures)
        self.automaton = Automaton(blocks, self.table, config.return_stack)

    def begin(self, offset_of: Callable[[int], int]) -> "Decoding":
        """Begin a stream.

        :param offset_of: Maps a position in the stream to an offset in the capture's buffer.
        """
        return Decoding(self, offset_of)

    def decode(
        self, data: bytes, offset_of: Callable[[int], int], progress: Optional[Callable[[int], None]] = None
    ) -> Recorder:
        """Decode a whole stream.

        :param progress: Called now and then with the number of bytes decoded since it was called last; what it raises
            ends the work, and this decoder must not be used again.
        """
        decoding = self.begin(offset_of)
        collecting = gc.isenabled()
        # Nothing made here becomes garbage, and looking for it in ever more objects takes longer than decoding.
        gc.disable()
        try:
            for at in range(0, len(data), _PIECE):
                piece = data[at : at + _PIECE]
                decoding.feed(piece)
                if progress is not None:
                    progress(len(piece))
        finally:
            if collecting:
                gc.enable()
        return decoding.finish()


class Decoding:
    """One stream being decoded; its bytes may be fed in any split."""

    def __init__(self, decoder: Decoder, offset_of: Callable[[int], int]) -> None:
        self._config = decoder.config
        self._table = decoder.table
        self._automaton = decoder.automaton
        self._recorder = Recorder(decoder.automaton.runs, offset_of)
        self._execution = Execution(decoder.automaton, self._recorder)
        self._handlers = Handlers(decoder.config, self._execution)
        # Whether an A-Sync is looked for; whether a Trace Info has come since.
        self._hunting = True
        self._informed = False
        self._skipped = 0
        self._rest = b""
        self._base = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream; a packet that is not whole waits for more."""
        data = self._rest + bytes(data) if self._rest else bytes(data)
        at = 0
        end = len(data)
        while at < end or self._execution.state.pending:
            if self._hunting:
                at = self._hunt(data, at, end)
                if self._hunting:
                    break
            if self._informed and not self._execution.refused and self._execution.context is not None:
                following = self._follow(data, at, end)
            else:
                following = self._packet(data, at, end)
            if following == at and not self._execution.state.pending:
                break
            at = following
        self._rest = data[at:]
        self._base += at

    def finish(self) -> Recorder:
        """End the stream and give what was recorded."""
        if self._hunting or not self._informed:
            self._skipped += len(self._rest)
            if self._skipped:
                detail = "no synchronisation in %d bytes" % self._skipped
                self._execution.gap(self._base, GapReason.NOT_SYNCHRONISED, detail)
        elif self._rest.strip(b"\0"):
            self._execution.gap(self._base, GapReason.CUT, self._rest[:8].hex(" "))
        return self._recorder

    def _follow(self, data: bytes, at: int, end: int) -> int:
        # The hot loop.  Returns where it stopped: at the end, or where synchronisation was lost.
        automaton, execution, base = self._automaton, self._execution, self._base
        stack, ran, lies = execution.stack, self._recorder.order.append, self._recorder.positions.append
        state = execution.state
        while at < end or state.pending:
            stretch = state.stretches.get(data[at : at + WINDOW])
            if stretch is None:
                if state.place is AFTER_BRANCH and stack and (state.pending or data[at] in ATOMS):
                    entry = stack.pop()
                    place = automaton.place(entry.address, entry.isa)
                    state = automaton.state(place, state.addresses, state.wide, state.quiet, pending=state.pending)
                    continue
                stretch = automaton.stretch(state, data, at, end)
            if stretch is None:
                execution.state = state
                following = self._pending(at) if state.pending else self._packet(data, at, end)
                if self._hunting or execution.refused or (following == at and not state.pending):
                    return following
                state = execution.state
                at = following
                continue
            length, run, state, pushes, deepest = stretch
            if run >= 0:
                ran(run)
                lies(base + at)
            if deepest:
                # The oldest entries made room for what was pushed, even if that was popped again.
                del stack[: max(0, len(stack) + deepest - STACK_DEPTH)]
                stack.extend(pushes)
            at += length
        execution.state = state
        return at

    def _hunt(self, data: bytes, at: int, end: int) -> int:
        found = data.find(ASYNC, at)
        if found < 0:
            # Keep what may be the beginning of the packet.
            following = max(at, end - len(ASYNC) + 1)
            self._skipped += following - at
            return following
        self._skipped += found - at
        self._hunting = False
        return found

    def _packet(self, data: bytes, at: int, end: int) -> int:
        # Handles one packet and returns the index after it; ``at`` when it is not whole.
        header = self._table[data[at]]
        size = header.length(data, at, end)
        if size == 0:
            return at
        position = self._base + at
        kind = packet_kind(header, data, at, self._config) if size > 0 else Kind.RESERVED
        if kind is Kind.RESERVED:
            # Only bytes that were needed to tell: others may not have come yet.
            self._execution.gap(position, GapReason.BAD_PACKET, data[at : at + max(size, 1)].hex(" "))
            self._execution.lose()
            self._hunting = True
            self._informed = False
            return at + 1
        if kind is Kind.TRACE_INFO and not self._informed:
            self._inform(position)
        if self._informed:
            self._handlers.handle(kind, data, at, position)
        elif kind is not Kind.ASYNC:
            self._skipped += size
        return at + size

    def _inform(self, position: int) -> None:
        self._informed = True
        if self._skipped:
            self._execution.gap(position, GapReason.NOT_SYNCHRONISED, "%d bytes before it" % self._skipped)
        self._skipped = 0

    def _pending(self, at: int) -> int:
        # Follows the atoms left over of the packet before ``at`` one by one.
        state = self._execution.state
        self._execution.set(state.place)
        self._execution.atoms(state.pending, self._base + at - 1)
        return at
