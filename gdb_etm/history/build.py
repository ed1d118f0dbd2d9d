"""From a capture to histories: framing, the protocol's decoder, the store."""

from __future__ import annotations

from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.capture import BufferFormat, Capture, TraceSource
from gdb_etm.errors import CaptureError
from gdb_etm.framing.formatter import deframe
from gdb_etm.history.store import History
from gdb_etm.program.image import Program
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.decoder import Decoder
from gdb_etm.protocols.recorder import Recorder


class SourceStream(NamedTuple):
    """The bytes of one source, taken out of the capture's buffer."""

    source: TraceSource
    trace_id: int
    data: bytes
    offset_of: Callable[[int], int]
    """Maps a position in ``data`` to an offset in the capture's buffer."""


def _same(position: int) -> int:
    return position


def streams(capture: Capture) -> List[SourceStream]:
    """Split a capture by the sources that can be decoded, in the capture's order.

    :raises CaptureError: When a source lacks a register that decoding needs, or none can be decoded.
    """
    sources = [source for source in capture.sources if source.protocol == "etmv4"]
    if not sources:
        found = ", ".join("%s (%s)" % (source.name, source.protocol) for source in capture.sources) or "none"
        raise CaptureError("%s has no trace source that can be decoded; it has %s" % (capture.name, found))
    if capture.format is BufferFormat.RAW:
        trace_id = Etmv4Config.from_source(sources[0]).trace_id
        return [SourceStream(sources[0], trace_id, capture.buffer, _same)]
    if capture.format is not BufferFormat.FRAMES:
        raise CaptureError("%s is in the format %s, which is not read" % (capture.name, capture.format.value))
    found_streams = deframe(capture.buffer).streams
    result = []
    for source in sources:
        trace_id = Etmv4Config.from_source(source).trace_id
        stream = found_streams.get(trace_id)
        if stream is not None:
            result.append(SourceStream(source, trace_id, bytes(stream.data), stream.offset_of))
    return result


class DecoderCache:
    """Keeps decoders, which learn the program as they go, for captures of the same unit and program."""

    def __init__(self) -> None:
        self._decoders: Dict[Tuple[Etmv4Config, bytes], Decoder] = {}

    def get(self, config: Etmv4Config, program: Program) -> Decoder:
        """Give the decoder for a configuration and a program; a new one when there is none."""
        key = (config, program.identity())
        decoder = self._decoders.get(key)
        if decoder is None:
            # One program is debugged at a time: what was learned of an older one is dropped.
            self._decoders = {old: kept for old, kept in self._decoders.items() if old[1] == key[1]}
            decoder = self._decoders[key] = Decoder(config, program)
        return decoder

    def drop(self, decoder: Decoder) -> None:
        """Forget a decoder whose work was broken off: what it had in hand is half done."""
        self._decoders = {key: kept for key, kept in self._decoders.items() if kept is not decoder}


Progress = Callable[[int], None]
"""Called now and then with the number of bytes decoded since the last call; what it raises ends the work."""


class Part(NamedTuple):
    """What one unit contributed to a capture, with what decoding it takes."""

    stream: SourceStream
    config: Etmv4Config
    program: Program

    @property
    def size(self) -> int:
        """How many bytes there are to decode."""
        return len(self.stream.data)


def parts(capture: Capture, program: Optional[Program] = None, trace_id: Optional[int] = None) -> List[Part]:
    """Take a capture apart by units.

    :param program: The program that ran; None takes each source's own memory images.
    :param trace_id: Only this trace ID; None takes all.
    :raises CaptureError: When nothing in the capture can be decoded.
    """
    found = []
    for stream in streams(capture):
        if trace_id in (None, stream.trace_id):
            memory = program if program is not None else Program(stream.source.images)
            found.append(Part(stream, Etmv4Config.from_source(stream.source), memory))
    return found


def decode_part(part: Part, cache: DecoderCache, progress: Optional[Progress] = None) -> Recorder:
    """Decode one unit's bytes."""
    decoder = cache.get(part.config, part.program)
    try:
        return decoder.decode(part.stream.data, part.stream.offset_of, progress)
    except BaseException:
        cache.drop(decoder)
        raise


def decode_parts(todo: Sequence[Part], cache: DecoderCache, progress: Optional[Progress] = None) -> List[Recorder]:
    """Decode every unit's bytes, one after the other."""
    return [decode_part(part, cache, progress) for part in todo]


def build(
    capture: Capture,
    program: Optional[Program] = None,
    trace_id: Optional[int] = None,
    cache: Optional[DecoderCache] = None,
    decode: Callable[[Sequence[Part], DecoderCache], Sequence[Recorder]] = decode_parts,
) -> Dict[int, History]:
    """Decode a capture.

    :param capture: What was captured.
    :param program: The program that ran; None takes each source's own memory images.
    :param trace_id: Only this trace ID; None takes all.
    :param cache: Decoders of earlier captures.
    :param decode: Decodes the parts, in their order; the default does it here, one after the other.
    :returns: Histories by trace ID, in the capture's order of sources.
    :raises CaptureError: When nothing in the capture can be decoded.
    """
    decoders = cache if cache is not None else DecoderCache()
    todo = parts(capture, program, trace_id)
    histories = {}
    for part, recorder in zip(todo, decode(todo, decoders)):
        blocks = decoders.get(part.config, part.program).automaton.blocks
        histories[part.stream.trace_id] = History(recorder, part.stream.source, blocks, capture.end)
    return histories
