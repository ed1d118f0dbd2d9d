"""A capture with what its history needs alone: for passing on.

Kept are the trace, the unit's registers, the instructions that ran with those up to the next branch, and registers that
say what happened and hold no data.  Names of files and of anything in the program are left out.
"""

from __future__ import annotations

from typing import Container, Iterator, List, NamedTuple, Tuple

from gdb_etm.capture import Beginning, Core, MemoryImage, RawCapture, TraceSource
from gdb_etm.errors import CommandError
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.blocks import Blocks
from gdb_etm.program.image import Program
from gdb_etm.program.isa import InstructionKind
from gdb_etm.program.ram import joined
from gdb_etm.protocols.mtb.config import MtbConfig
from gdb_etm.session.captures import CaptureRecord
from gdb_etm.session.decoding import decode_capture
from gdb_etm.session.session import DebugSession
from gdb_etm.views.text import plural

# Where the core was, and why it stopped.
_SAFE = ("pc", "xpsr", "shcsr", "cfsr", "hfsr", "dfsr", "sfsr", "cpsr", "spsr_abt", "spsr_und", "ifsr")
_NAME = "anonymised capture"


class Anonymised(NamedTuple):
    """What may be passed on."""

    capture: RawCapture
    # What is in it: a word or two, and how much of that.
    contents: List[Tuple[str, str]]


def anonymised(session: DebugSession, record: CaptureRecord, with_memory: bool) -> Anonymised:
    """Take from a capture what its history needs.

    :param with_memory: Also RAM and registers, from which values of the past are recovered.
    :raises CommandError: What it would decode to is not the same.
    """
    capture = record.capture
    filled = capture._replace(sources=tuple(_with(session, record, source) for source in capture.sources))
    histories = decode_capture(filled, session.meter)
    code = [image for history in histories.values() for image in _code(history)]
    sources = [_source(source, code, with_memory) for source in filled.sources]
    found = RawCapture(
        capture.buffer,
        capture.format,
        tuple(sources),
        capture.end,
        _NAME,
        is_whole=capture.is_whole,
        is_untouched=capture.is_untouched,
    )
    again = decode_capture(found, session.meter)
    for trace_id, history in histories.items():
        if list(again[trace_id].order) != list(history.order) or again[trace_id].events != history.events:
            raise CommandError("its history would not be the same: nothing is written; please report this")
    return Anonymised(found, list(_contents(found)))


def _with(session: DebugSession, record: CaptureRecord, source: TraceSource) -> TraceSource:
    return source._replace(images=source.images + tuple(session.images_for(record)))


def _code(history: ExecutionHistory) -> Iterator[MemoryImage]:
    # What ran; where it was left in the midst of a block, a decoder looks as far as the block's branch.
    blocks = Blocks(history.program)
    pieces: List[Tuple[int, int]] = []
    for executed in history.distinct_ranges():
        start, end = executed.start & ~1, executed.end & ~1
        at, last = start, None
        while at < end:
            last = blocks.instruction(at, executed.isa)
            at += last.size if last is not None else end
        if last is not None and last.kind is InstructionKind.OTHER:
            end = blocks.at(end, executed.isa).end
        pieces.append((start, end))
    for start, end in joined(pieces):
        yield MemoryImage(start, history.program.read(start, end - start), _NAME)


def _source(source: TraceSource, code: List[MemoryImage], with_memory: bool) -> TraceSource:
    core = source.core
    if core is None:
        return source._replace(images=(), marks=())
    registers = {name: value for name, value in core.registers.items() if with_memory or name in _SAFE}
    memory = tuple(image._replace(name=_NAME) for image in core.memory) if with_memory else ()
    begin = core.begin
    if begin is not None:
        kept = {name: value for name, value in begin.registers.items() if with_memory or name in _SAFE}
        begin = Beginning(kept, tuple(image._replace(name=_NAME) for image in begin.memory) if with_memory else ())
    images = tuple(code)
    if source.protocol == "mtb":
        images += tuple(_vectors(source, {image.address for image in images}))
    return source._replace(core=Core("cpu_0", core.type, registers, memory, begin), images=images, marks=())


def _vectors(source: TraceSource, begins: Container[int]) -> Iterator[MemoryImage]:
    # An MTB names no exceptions: their table does, of which the entries of handlers that ran are kept, and zeros.
    config = MtbConfig.from_source(source)
    start = config.vtor or 0
    table = config.table or Program(source.images).read(start, 4 * config.vectors)
    words = [table[at : at + 4] for at in range(0, len(table) - 3, 4)]
    kept = [word if int.from_bytes(word, "little") & ~1 in begins else bytes(4) for word in words]
    if any(map(any, kept)):
        yield MemoryImage(start, b"".join(kept), _NAME)


def _contents(capture: RawCapture) -> Iterator[Tuple[str, str]]:
    yield "trace", plural(len(capture.buffer), "byte")
    for source in capture.sources:
        yield "unit", "%s: %s" % (source.protocol, plural(len(source.registers), "register"))
        size = sum(len(image.data) for image in source.images)
        yield "code", "%s in %s: what ran" % (plural(size, "byte"), plural(len(source.images), "piece"))
        if source.core is None:
            continue
        yield "registers", ", ".join(source.core.registers) or "none"
        memory = sum(len(image.data) for image in source.core.memory)
        yield "RAM", plural(memory, "byte") if memory else "none"
    yield "names", "no symbols, no names of files"
