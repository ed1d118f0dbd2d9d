"""From a capture to histories: framing, the protocol's decoder, the store."""

from __future__ import annotations

from functools import partial
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.capture import BufferEnd, BufferFormat, RawCapture, TraceSource, pieces_of
from gdb_etm.errors import CaptureError
from gdb_etm.framing.formatter import Stream, deframe
from gdb_etm.framing.tpiu import TpiuFrames, find_frames, with_trailers, without_trailers
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.image import Program
from gdb_etm.protocols.elements import DataGap, Gap, GapReason
from gdb_etm.protocols.garbage import garbage_uncollected
from gdb_etm.protocols.recorder import Recorder
from gdb_etm.protocols.registry import PROTOCOLS, Config, Decoder, ProtocolReader

# Called now and then with the number of bytes done since the last call; what it raises ends the work.
Progress = Callable[[int], None]


class SourceStream(NamedTuple):
    """The bytes of one source under one trace ID."""

    source: TraceSource
    trace_id: int
    data: bytes
    # Maps a position in ``data`` to an offset in the capture's buffer.
    offset_of: Callable[[int], int]
    # Bytes of the buffer before and after these that no source can be found for.
    lost: Tuple[Gap, ...] = ()
    # Whether it is the unit's data stream and not its instruction stream.
    is_data: bool = False
    # Why the oldest byte in the buffer is the oldest.
    end: BufferEnd = BufferEnd.UNKNOWN

    @property
    def reader(self) -> Optional[ProtocolReader]:
        """How it is read; None when it cannot be."""
        return PROTOCOLS.get(self.source.protocol)


def _same(position: int) -> int:
    return position


def streams(capture: RawCapture, progress: Optional[Progress] = None) -> List[SourceStream]:
    """Split a capture by its decodable sources, in the capture's order.

    The data stream of a source follows its instruction stream.

    :param progress: Told of the buffer's bytes that were taken out of their frames.
    :raises CaptureError: When a source lacks a register that decoding needs, or none can be decoded.
    """
    return [stream for stream in all_streams(capture, progress) if stream.reader is not None]


def all_streams(capture: RawCapture, progress: Optional[Progress] = None) -> List[SourceStream]:
    """Split a capture by trace IDs: decodable ones first, then the others.

    One of several halts gives the streams of each.

    :param progress: Told of the buffer's bytes that were taken out of their frames.
    :raises CaptureError: When a source lacks a register that decoding needs, or none can be decoded.
    """
    if capture.pieces:
        return _streams_of_pieces(capture, progress)
    sources = [source for source in capture.sources if source.protocol in PROTOCOLS]
    if not sources:
        found = ", ".join("%s (%s)" % (source.name, source.protocol) for source in capture.sources) or "none"
        raise CaptureError("%s has no trace source that can be decoded; it has %s" % (capture.name, found))
    if capture.format is BufferFormat.RAW:
        trace_id = PROTOCOLS[sources[0].protocol].config(sources[0]).trace_id
        return [SourceStream(sources[0], trace_id, capture.buffer, _same, end=capture.end)]
    framed = _Framed(capture, progress)
    result = []
    for source in sources:
        own_id = PROTOCOLS[source.protocol].config(source).trace_id
        for one in (own_id, data_trace_id(source)):
            if one is not None and one in framed.streams:
                result.append(framed.stream(source, one, one != own_id))
    known = {stream.trace_id for stream in result}
    others = {_trace_id(source): source for source in capture.sources if source.protocol not in PROTOCOLS}
    for trace_id in framed.streams:
        if trace_id not in known:
            result.append(framed.stream(others.get(trace_id, _NO_SOURCE), trace_id, False))
    return result


def _streams_of_pieces(capture: RawCapture, progress: Optional[Progress]) -> List[SourceStream]:
    found: List[SourceStream] = []
    begin = 0
    for piece in pieces_of(capture):
        for stream in all_streams(piece, progress):
            lost = tuple([gap._replace(offset=begin + gap.offset) for gap in stream.lost])
            found.append(stream._replace(offset_of=partial(_behind, begin, stream.offset_of), lost=lost))
        begin += len(piece.buffer)
    return found


def _behind(begin: int, offset_of: Callable[[int], int], position: int) -> int:
    return begin + offset_of(position)


def data_trace_id(source: TraceSource) -> Optional[int]:
    """Give the trace ID of a source's data stream; None without one."""
    reader = PROTOCOLS[source.protocol]
    return reader.data.trace_id(reader.config(source)) if reader.data is not None else None


_NO_SOURCE = TraceSource("", "of no source that the capture names", {}, None, ())
# Registers of sources that cannot be decoded, with their trace ID in bits 22 to 16.
_TRACE_IDS = ("ITMTCR", "ITM_TCR", "STMTCSR")


def _trace_id(source: TraceSource) -> int:
    return next((source.registers[name] >> 16 & 0x7F for name in _TRACE_IDS if name in source.registers), -1)


class _Framed:
    # A buffer of frames taken apart, whatever carried them.

    def __init__(self, capture: RawCapture, progress: Optional[Progress]) -> None:
        port = find_frames(without_trailers(capture.buffer)) if capture.format is BufferFormat.DSTREAM else None
        self._port = port
        frames = deframe(capture.buffer if port is None else bytes(port.data), progress)
        self.streams = frames.streams
        lost = []
        if port is not None and port.dropped:
            lost.append(Gap(0, GapReason.NOT_SYNCHRONISED, "%d bytes outside frames" % port.dropped))
        if frames.unattributed:
            lost.append(Gap(0, GapReason.NOT_SYNCHRONISED, "%d bytes before the first trace ID" % frames.unattributed))
        if frames.leftover:
            end = len(capture.buffer) - frames.leftover
            lost.append(Gap(end, GapReason.CUT, "%d bytes of a frame" % frames.leftover))
        self.lost = tuple(lost)

    def stream(self, source: TraceSource, trace_id: int, is_data: bool) -> SourceStream:
        stream = self.streams[trace_id]
        offset_of = stream.offset_of if self._port is None else partial(self._port_offset, self._port, stream)
        return SourceStream(source, trace_id, stream.data, offset_of, self.lost, is_data)

    @staticmethod
    def _port_offset(port: TpiuFrames, stream: Stream, position: int) -> int:
        return with_trailers(port.offset_of(stream.offset_of(position)))


class DecoderCache:
    """Cache of decoders for captures of the same unit and program."""

    def __init__(self) -> None:
        self._decoders: Dict[Tuple[str, Config], Decoder] = {}
        self._program = Program(())

    def get(self, protocol: str, config: Config, program: Program) -> Decoder:
        """Give the decoder for a configuration and a program, made when absent.

        :param protocol: As of :class:`~gdb_etm.capture.TraceSource`.
        """
        if program.pieces != self._program.pieces:
            # One program is debugged at a time: what was learned of an older one is dropped.
            self._decoders.clear()
            self._program = program
        # Units that differ only in their trace ID are read alike, and cores run much of the same code.
        key = (protocol, config._replace(trace_id=0))
        decoder = self._decoders.get(key)
        if decoder is None:
            decoder = self._decoders[key] = PROTOCOLS[protocol].decoder(key[1], self._program)
        return decoder

    def drop(self, decoder: Decoder) -> None:
        """Forget a decoder whose work was broken off halfway."""
        self._decoders = {key: kept for key, kept in self._decoders.items() if kept is not decoder}


class StreamPart(NamedTuple):
    """What one unit contributed to a capture, with what decoding it takes."""

    # The unit's instruction stream.
    stream: SourceStream
    config: Config
    program: Program
    # The unit's data stream; None where there is none.
    transfers: Optional[SourceStream] = None

    @property
    def reader(self) -> ProtocolReader:
        """How the unit's streams are read."""
        return PROTOCOLS[self.stream.source.protocol]

    @property
    def size(self) -> int:
        """How many bytes there are to decode."""
        return len(self.stream.data) + (len(self.transfers.data) if self.transfers is not None else 0)


def parts(
    capture: RawCapture,
    program: Optional[Program] = None,
    trace_id: Optional[int] = None,
    progress: Optional[Progress] = None,
) -> List[StreamPart]:
    """Take a capture apart by units.

    :param program: The program that ran; None takes each source's own memory images.
    :param trace_id: Only this trace ID; None takes all.
    :param progress: Told of the buffer's bytes that were taken out of their frames.
    :raises CaptureError: When nothing in the capture can be decoded.
    """
    found = []
    split = streams(capture, progress)
    for stream in split:
        if not stream.is_data:
            others = [other for other in split if other.is_data and other.source is stream.source]
            if trace_id in (None, *(one.trace_id for one in (stream, *others))):
                memory = program if program is not None else Program(stream.source.images)
                config = PROTOCOLS[stream.source.protocol].config(stream.source)
                found.append(StreamPart(stream, config, memory, others[0] if others else None))
    return found


def decode_part(part: StreamPart, cache: DecoderCache, progress: Optional[Progress] = None) -> Recorder:
    """Decode one unit's bytes."""
    stream, data = part.stream, part.reader.data
    decoder = cache.get(stream.source.protocol, part.config, part.program)
    before = [gap for gap in stream.lost if not gap.offset]
    elements = []
    if part.transfers is not None and data is not None:
        elements.append(data.elements(part.config, part.transfers.data, part.transfers.offset_of, progress))
    ends = part.reader.ends
    known = {"ends": ends(stream.source, stream.end)} if ends is not None else {}
    try:
        recorder = decoder.decode(stream.data, stream.offset_of, progress, before, *elements, **known)
    except BaseException:
        cache.drop(decoder)
        raise
    data_id = data.trace_id(part.config) if data is not None else None
    if not elements and data_id is not None:
        offset = stream.offset_of(0) if stream.data else 0
        recorder.insert([(0, DataGap(offset, GapReason.ABSENT, "trace ID 0x%02x" % data_id))])
    for gap in stream.lost[len(before) :]:
        recorder.event(gap)
    return recorder


def decode_parts(
    todo: Sequence[StreamPart], cache: DecoderCache, progress: Optional[Progress] = None
) -> List[Recorder]:
    """Decode every unit's bytes, one after the other."""
    with garbage_uncollected():
        return [decode_part(part, cache, progress) for part in todo]


def histories(
    capture: RawCapture, todo: Sequence[StreamPart], recorders: Sequence[Recorder], cache: DecoderCache
) -> Dict[int, ExecutionHistory]:
    """Make histories of what was decoded.

    :param todo: The capture's parts.
    :param recorders: What became of each.
    :param cache: Decoders of the parts.
    :returns: Histories by trace ID, in the capture's order of sources.
    """
    found = {}
    for part, recorder in zip(todo, recorders):
        blocks = cache.get(part.stream.source.protocol, part.config, part.program).automaton.blocks
        found[part.stream.trace_id] = ExecutionHistory(recorder, part.stream.source, blocks, capture.end)
    return found


def build(
    capture: RawCapture,
    program: Optional[Program] = None,
    trace_id: Optional[int] = None,
    cache: Optional[DecoderCache] = None,
) -> Dict[int, ExecutionHistory]:
    """Decode a capture.

    :param capture: What was captured.
    :param program: The program that ran; None takes each source's own memory images.
    :param trace_id: Only this trace ID; None takes all.
    :param cache: Decoders of earlier captures.
    :returns: Histories by trace ID, in the capture's order of sources.
    :raises CaptureError: When nothing in the capture can be decoded.
    """
    decoders = cache if cache is not None else DecoderCache()
    todo = parts(capture, program, trace_id)
    return histories(capture, todo, decode_parts(todo, decoders), decoders)
