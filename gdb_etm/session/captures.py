"""Captures at hand, decoded when somebody looks."""

from __future__ import annotations

from typing import Dict, Iterable, List, Optional, Sequence

from gdb_etm.capture import MemoryImage, RawCapture, pieces_of, with_images
from gdb_etm.errors import CaptureError, CommandError
from gdb_etm.history.build import DecoderCache, SourceStream, all_streams, data_trace_id
from gdb_etm.session.core_history import CoreHistory, Placement
from gdb_etm.session.decoded import Decoded, ReadMemory
from gdb_etm.session.decoding import decode_capture, taking_apart
from gdb_etm.session.halt_states import Anchored, anchored_of
from gdb_etm.session.packet_listing import Packets
from gdb_etm.session.progress import Meter
from gdb_etm.session.walk import Walk

# Captures that stay at hand.
KEPT = 16


class CaptureRecord:
    """One capture with a number.

    :param number: Counts the captures of this session from 1.
    :param capture: The buffer and what decoding needs.
    :param origin: Where it was taken, such as ``"halt in main"``.
    :param is_live: Whether it comes from the target, so that its code can be compared with the target's.
    :param meter: Watches what takes long.
    """

    def __init__(self, number: int, capture: RawCapture, origin: str, is_live: bool, meter: Meter) -> None:
        self._meter = meter
        self.number = number
        self.capture = capture
        self.origin = origin
        self.is_live = is_live
        # What is known of the core's state at the ends of the trace.
        self.anchored = Anchored()
        # Why the core is not where it was at the halt before, or what more ran than is in this capture; may be empty.
        self.unseen = ""
        # Whether it is one of many that "etm record" took: then what is counted of it stays when it is left out.
        self.is_piece = False
        # Whether the debugger changed nothing from the halt before until the core ran on.
        self.follows_untouched = False
        # The instructions of its first core that has any; negative while nobody has looked.
        self.instructions = -1
        # All histories, once they are decoded; until then those that somebody asked for by their trace IDs.
        self._decoded: Optional[Dict[int, Decoded]] = None
        self._some: Dict[int, Decoded] = {}
        self._packets: Dict[Optional[int], Packets] = {}

    @property
    def is_decoded(self) -> bool:
        """Check whether somebody has looked at all of it already."""
        return self._decoded is not None

    @property
    def has_program(self) -> bool:
        """Check whether the capture holds code that it can be decoded with."""
        return any(source.images for source in self.capture.sources)

    @property
    def placement(self) -> Placement:
        """How it goes on where the capture before it ends."""
        capture = self.capture
        size = len(capture.buffer)
        return Placement(self.number, size, self.origin, self.unseen, capture.ran, self.follows_untouched)

    @property
    def walks(self) -> List[Walk]:
        """The user's walks through its histories."""
        return [one.walk for one in (self._decoded or self._some).values() if one.walk is not None]

    def forget_symbols(self) -> None:
        """Forget the names of functions: the symbols have changed."""
        for decoded in (self._decoded or self._some).values():
            decoded.forget_symbols()

    def release(self) -> None:
        """Drop what was decoded, unless the user is in it.

        It is decoded again when somebody looks.
        """
        if not self.walks:
            self._decoded, self._some, self._packets = None, {}, {}

    def forget_memory(self, with_begin: bool) -> None:
        """Drop what memory is known of the core at its end.

        :param with_begin: Whether to drop that before the run, too.
        """
        for anchor in (self.anchored.end, self.anchored.begin if with_begin else None):
            if anchor is not None:
                anchor.forget_memory()

    def decoded(
        self,
        images: Sequence[MemoryImage],
        cache: DecoderCache,
        read: Optional[ReadMemory],
        trace_id: Optional[int] = None,
    ) -> Dict[int, Decoded]:
        """Decode histories by trace ID, once, and again when code appears.

        :param images: Program memory beside what the capture holds; it comes after the capture's own.
        :param cache: Decoders of earlier captures.
        :param read: Reads the target's memory for comparing; None where there is no target.
        :param trace_id: The one that is enough, where there is one; None takes all.
        :raises CaptureError: Nothing in it can be decoded.
        """
        if images and not self.has_program:
            self._decoded, self._some = None, {}
        if self._decoded is not None:
            return self._decoded
        if trace_id is not None and trace_id not in self._some:
            self._some.update(self._decode(images, cache, read, trace_id))
        if trace_id in self._some:
            return self._some
        self._decoded = {**self._decode(images, cache, read, None), **self._some}
        self.instructions = next(filter(None, (len(one.history) for one in self._decoded.values())), 0)
        return self._decoded

    def _decode(
        self,
        images: Sequence[MemoryImage],
        cache: DecoderCache,
        read: Optional[ReadMemory],
        trace_id: Optional[int],
    ) -> Dict[int, Decoded]:
        capture = with_images(self.capture, images)
        if capture.pieces:
            self.capture = capture
            return self._decode_pieces(cache, trace_id)
        result: Dict[int, Decoded] = {}
        for found, history in decode_capture(capture, self._meter, cache, trace_id).items():
            result[found] = Decoded(history, self._meter, self.anchored, found)
            if read is not None and self.is_live:
                result[found].compare(read)
        self.capture = capture
        return result

    def _decode_pieces(self, cache: DecoderCache, trace_id: Optional[int]) -> Dict[int, Decoded]:
        cores: Dict[int, CoreHistory] = {}
        for piece, capture in zip(self.capture.pieces, pieces_of(self.capture)):
            record = CaptureRecord(self.number, capture, piece.origin, False, self._meter)
            record.anchored = anchored_of(capture)
            record.unseen, record.follows_untouched = piece.unseen, piece.follows_untouched
            try:
                decoded = record.decoded((), cache, None, trace_id)
            except CaptureError:
                decoded = {}
            for found in {**cores, **decoded}:
                cores.setdefault(found, CoreHistory(False)).add(record.placement, decoded.get(found))
        return {found: core.decoded(self._meter) for found, core in cores.items() if core.has_any}

    def streams(self) -> List[SourceStream]:
        """Take the capture apart by trace IDs.

        :raises CaptureError: Nothing in it can be decoded.
        """
        with taking_apart(self.capture, self._meter) as taken:
            return all_streams(self.capture, taken.advance)

    def packets(self, trace_id: Optional[int]) -> Packets:
        """List a trace ID's packets; None takes all, in buffer order.

        :raises CommandError: There is no such trace ID.
        """
        if trace_id not in self._packets:
            found = self.streams()
            chosen = [stream for stream in found if trace_id in (None, stream.trace_id)]
            if not chosen and trace_id is not None:
                raise no_such_id(trace_id, self.number, sorted({stream.trace_id for stream in found}))
            if not chosen:
                raise CaptureError("capture %d holds no trace: %s" % (self.number, _empty_reason(self.capture)))
            self._packets[trace_id] = Packets(chosen, self._meter)
        return self._packets[trace_id]

    def choose(self, decoded: Dict[int, Decoded], trace_id: Optional[int]) -> Decoded:
        """Choose a trace ID's history; None takes the first with instructions.

        :raises CommandError: There is no such trace ID.
        """
        if trace_id is not None:
            if trace_id not in decoded:
                _refuse_data_id(trace_id, decoded)
                raise no_such_id(trace_id, self.number, decoded)
            return decoded[trace_id]
        if not decoded:
            raise CaptureError("capture %d holds no trace: %s" % (self.number, _empty_reason(self.capture)))
        return next((one for one in decoded.values() if len(one.history)), next(iter(decoded.values())))

    def whose(self, decoded: Decoded) -> str:
        """Name a history's trace ID; empty where there is only one."""
        ids = ["0x%02x" % trace_id for trace_id in self._decoded or ()]
        return "" if len(ids) < 2 else "trace ID 0x%02x of %s" % (decoded.trace_id, ", ".join(ids))


def _refuse_data_id(trace_id: int, decoded: Dict[int, Decoded]) -> None:
    # A data stream has no instructions of its own.
    for own_id, one in decoded.items():
        if data_trace_id(one.history.source) == trace_id:
            words = 'trace ID 0x%02x is the data trace of 0x%02x; "history /d --id 0x%02x" shows its loads and stores'
            raise CommandError(words % (trace_id, own_id, own_id))


def no_such_id(trace_id: int, number: int, known: Iterable[int]) -> CommandError:
    """Make the error for a trace ID that is not there."""
    words = ", ".join("0x%02x" % one for one in known) or "none"
    return CommandError("no trace ID 0x%02x in capture %d; it has: %s" % (trace_id, number, words))


def _empty_reason(capture: RawCapture) -> str:
    if not capture.buffer:
        return "the buffer was empty; did the program run since tracing started?"
    names = ", ".join(source.name for source in capture.sources)
    return "%d bytes, but none from %s" % (len(capture.buffer), names)
