"""Raw capture: all that decoding needs, wherever the trace came from."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from enum import Enum
from typing import Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple


class BufferFormat(Enum):
    """How trace bytes are wrapped in the buffer."""

    # 16-byte formatter frames that carry several trace IDs (CoreSight Architecture v3.0, D4).
    FRAMES = "coresight"
    # The bytes of one source, unwrapped.
    RAW = "source_data"
    # Formatter frames as a DSTREAM probe stores them: in a TPIU stream with frame synchronisation packets.
    DSTREAM = "dstream_coresight"


class BufferEnd(Enum):
    """Why the oldest byte in the buffer is the oldest."""

    STARTED = "tracing started here"
    WRAPPED = "before them the buffer wrapped"
    UNKNOWN = "what came before is unknown"
    # Of a history of several captures.
    LEFT_OUT = "older captures were left out"


class MemoryImage(NamedTuple):
    """Bytes of program memory at the time of the capture."""

    # First byte address in the core's memory space.
    address: int
    data: bytes
    # Where the bytes come from, such as an ELF file's path.
    name: str


def disjoint(images: Iterable[MemoryImage]) -> List[MemoryImage]:
    """Cut images where they overlap: the earlier one keeps what several hold.

    :returns: The pieces that are left, in the images' order.
    """
    pieces: List[MemoryImage] = []
    # What is covered, in address order; what touches is one.
    starts: List[int] = []
    ends: List[int] = []
    for image in images:
        start, end = image.address, image.address + len(image.data)
        first, after = bisect_left(ends, start), bisect_right(starts, end)
        at = start
        for low, high in zip(starts[first:after] + [end], ends[first:after] + [end]):
            if at < low:
                pieces.append(MemoryImage(at, image.data[at - start : low - start], image.name))
            at = max(at, high)
        if first < after:
            start, end = min(start, starts[first]), max(end, ends[after - 1])
        starts[first:after], ends[first:after] = [start], [end]
    return pieces


class Beginning(NamedTuple):
    """State of a core when the traced run began."""

    # Core registers, lower-case names.
    registers: Mapping[str, int]
    # Memory that the program changes as it runs, as far as it was read.
    memory: Tuple[MemoryImage, ...] = ()


class Core(NamedTuple):
    """The processor that a trace unit observes."""

    # Name within the capture, such as ``"cpu_0"``.
    name: str
    # Product name, such as ``"Cortex-M33"``; the decoder takes the architecture profile from it.
    type: str
    # Core registers at the time of the capture, lower-case names (``"pc"``); may be empty.
    registers: Mapping[str, int]
    # Memory at the time of the capture that the program changes as it runs, as far as it was read.
    memory: Tuple[MemoryImage, ...] = ()
    # When the run began; None when that is not known.
    begin: Optional[Beginning] = None


class TraceSource(NamedTuple):
    """One trace unit: what produced the bytes of one trace ID."""

    # Name within the capture, such as ``"ETM_0"``.
    name: str
    # ``"etmv4"``, ``"etmv3"``, ``"ptm"`` or ``"mtb"``; other strings name sources that cannot be decoded (``"stm"``).
    protocol: str
    # Configuration and identification registers by datasheet name (``"TRCCONFIGR"``), 32-bit values.
    registers: Mapping[str, int]
    # The core it observes; None when the capture does not say.
    core: Optional[Core]
    # Program memory that this source's core saw.  Earlier images win where they overlap.
    images: Tuple[MemoryImage, ...]
    # What the numbers of the events in the trace mean, as far as that is known.
    marks: Tuple[Tuple[int, str], ...] = ()


class RecordedPiece(NamedTuple):
    """A part of a buffer that was read at several halts."""

    # Bytes of the buffer.
    size: int
    # Why its oldest byte is the oldest.
    end: BufferEnd
    # Core registers when the run began and at the halt, lower-case names; empty where they are not known.
    begin: Mapping[str, int]
    registers: Mapping[str, int]
    # As a capture's.
    is_whole: bool
    is_untouched: bool
    ran: str
    # Where it was taken, such as ``"halt in main"``.
    origin: str
    # Why the core is not where it was at the halt before, or what more ran; empty where neither is so.
    unseen: str
    # Whether the debugger changed nothing from the halt before until the core ran on.
    follows_untouched: bool


class RawCapture(NamedTuple):
    """A trace buffer's content with everything needed to decode it."""

    # Oldest byte first; a circular buffer is already unwrapped.
    buffer: bytes
    format: BufferFormat
    sources: Tuple[TraceSource, ...]
    # Why the oldest byte is the oldest.
    end: BufferEnd
    # Shown to the user: a snapshot's path or a live capture's number.
    name: str = "capture"
    # What the user should know before believing the history, one line each, such as memory that is missing.
    notes: Tuple[str, ...] = ()
    # Whether it is known that the trace units were programmed to leave nothing out.
    is_whole: bool = False
    # Whether it is known that the debugger changed no register and no memory while cores were halted in between.
    is_untouched: bool = False
    # How long the core ran since the halt before, in words; empty where nobody has measured it.
    ran: str = ""
    # Where the buffer holds what was read at several halts, oldest first: its parts.  Empty where it is of one halt.
    pieces: Tuple[RecordedPiece, ...] = ()


def pieces_of(capture: RawCapture) -> List[RawCapture]:
    """Take a capture of several halts apart.

    The memory at the beginning and at the end stays with the first and the last.
    """
    found: List[RawCapture] = []
    at, last = 0, len(capture.pieces) - 1
    for index, piece in enumerate(capture.pieces):
        sources = []
        for source in capture.sources:
            core = source.core
            if core is not None:
                known = core.begin.memory if core.begin is not None and not index else ()
                begin = Beginning(piece.begin, known) if piece.begin else None
                memory = core.memory if index == last else ()
                core = core._replace(registers=piece.registers, memory=memory, begin=begin)
            sources.append(source._replace(core=core))
        found.append(
            capture._replace(
                buffer=capture.buffer[at : at + piece.size],
                sources=tuple(sources),
                end=piece.end,
                is_whole=piece.is_whole,
                is_untouched=piece.is_untouched,
                ran=piece.ran,
                pieces=(),
            )
        )
        at += piece.size
    return found


def with_images(capture: RawCapture, images: Sequence[MemoryImage], first: bool = False) -> RawCapture:
    """Add program memory to every source of a capture.

    :param first: Whether it wins over what the capture holds, or only fills in.
    """
    if not images:
        return capture
    sources: List[TraceSource] = []
    for source in capture.sources:
        more = tuple(image for image in images if image not in source.images)
        sources.append(source._replace(images=more + source.images if first else source.images + more))
    return capture._replace(sources=tuple(sources))
