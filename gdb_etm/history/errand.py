"""Serialised decoding jobs: parts of captures as bytes for another process."""

from __future__ import annotations

from functools import partial
from operator import add
from typing import Optional

from gdb_etm.capture import Core, MemoryImage, TraceSource
from gdb_etm.history.build import DecoderCache, Progress, SourceStream, StreamPart, decode_part
from gdb_etm.history.columns import ColumnError, ColumnReader, Writer
from gdb_etm.history.recording import read_recording, write_recording
from gdb_etm.program.image import Program
from gdb_etm.protocols.recorder import Recorder, RunTable
from gdb_etm.protocols.registry import PROTOCOLS


def write_errand(part: StreamPart) -> bytes:
    """Write what decoding a part takes."""
    out = Writer()
    source, core = part.stream.source, part.stream.source.core
    out.texts([source.name, source.protocol, *([core.name, core.type] if core is not None else [])])
    out.texts(source.registers)
    out.column("Q", source.registers.values())
    out.column("Q", [image.address for image in part.program.images])
    for image in part.program.images:
        out.blob(image.data)
    out.column("Q", (part.stream.trace_id,))
    out.blob(part.stream.data)
    others = [part.transfers] if part.transfers is not None else []
    out.column("Q", [other.trace_id for other in others])
    for other in others:
        out.blob(other.data)
    return out.written()


def run_errand(errand: bytes, progress: Optional[Progress] = None) -> bytes:
    """Decode a part, in the other process.

    :param errand: What :func:`write_errand` made.
    :returns: The recording, for :func:`read_result`.
    :raises ColumnError: It is malformed.
    """
    data = ColumnReader(errand)
    texts = data.texts()
    registers = dict(zip(data.texts(), data.column("Q")))
    images = tuple(MemoryImage(address, data.blob(), "") for address in data.column("Q"))
    trace_id = data.column("Q")[0]
    core = Core(texts[2], texts[3], {}) if len(texts) > 3 else None
    source = TraceSource(texts[0], texts[1], registers, core, images)
    stream = SourceStream(source, trace_id, data.blob(), _same)
    shifted = partial(add, _data_base(stream))
    others = [SourceStream(source, other, data.blob(), shifted, (), True) for other in data.column("Q")]
    data.end()
    if source.protocol not in PROTOCOLS:
        raise ColumnError("a part that cannot be decoded")
    part = StreamPart(stream, PROTOCOLS[source.protocol].config(source), Program(images), *others[:1])
    return write_recording(decode_part(part, DecoderCache(), progress))


def read_result(part: StreamPart, result: bytes) -> Recorder:
    """Read what became of a part.

    :param part: The part that was written.
    :param result: What :func:`run_errand` made of it.
    :raises ColumnError: It is malformed.
    """
    recorder = Recorder(RunTable(), part.stream.offset_of)
    before = [gap for gap in part.stream.lost if not gap.offset]
    read_recording(result, recorder, before, partial(_offset_of, part))
    for gap in part.stream.lost[len(before) :]:
        recorder.event(gap)
    return recorder


def _same(position: int) -> int:
    return position


def _data_base(stream: SourceStream) -> int:
    # In an errand positions in the data stream follow those in the instruction stream, its end included.
    return len(stream.data) + 1


def _offset_of(part: StreamPart, position: int) -> int:
    base = _data_base(part.stream)
    if part.transfers is None or position < base:
        return part.stream.offset_of(position)
    return part.transfers.offset_of(position - base)
