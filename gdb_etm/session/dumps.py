"""Trace that was left in a dump, a target's memory, a file.

A record beside it, such as the black box's, says all of it; else the user says where it is and what traced it.
"""

from __future__ import annotations

import re
from typing import Callable, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.capture import BufferEnd, BufferFormat, Core, MemoryImage, RawCapture, TraceSource
from gdb_etm.dumps.dump import MOST_BYTES
from gdb_etm.dumps.recognise import read_dump
from gdb_etm.dumps.record import SYMBOL, BlackBoxRecord, read_record
from gdb_etm.errors import AccessError, CaptureError, CommandError, ConnectError
from gdb_etm.files import read_regular
from gdb_etm.program.data_symbols import DataSymbol, read_data_symbols
from gdb_etm.program.elf import open_elf
from gdb_etm.program.image import Program
from gdb_etm.protocols.registry import PROTOCOLS
from gdb_etm.session.anchor import Anchor, ram_in_use
from gdb_etm.session.captures import CaptureRecord
from gdb_etm.session.debugger import Debugger
from gdb_etm.session.description import core_type
from gdb_etm.session.left_buffers import Arranged, Buffer, Unit, arranged, unit_of, words_of
from gdb_etm.session.numbers import count, size
from gdb_etm.session.programs import named_files, with_programs
from gdb_etm.session.session import DebugSession

_PIECE = re.compile(r"\s*([^,\s]+)\s*(?:,\s*(\S+)\s*)?\Z")
_NUMBER = re.compile(r"[0-9]")
_FRAME = 16
_STOP = SYMBOL + "_stop"
# EXC_RETURN's range, the bit of it that chooses PSP, and R12's place in the frame.
_EXC_RETURN, _PROCESS, _R12 = 0xFFFFFF00, 4, 16
# CFSR: MSTKERR, STKERR, STKOF: the frame could not be written.
_NO_FRAME = 0x00101010
# sdk-nrf's "etb_trace" keeps the buffer there, whole and oldest first, and says so in the word beside it.
NORDIC, _NORDIC_VALID, _NORDIC_MAGIC = "etb_buf", "etb_buf_valid", 0xDEADBEEF


class DumpRequest(NamedTuple):
    """What a user says of trace that was left."""

    # A dump; None: the debugger's target.
    file: Optional[str] = None
    # SYMBOL, or ADDRESS,SIZE; None: the record that the program has.
    memory: Optional[str] = None
    # A file with the buffer alone, in place of memory.
    raw: Optional[str] = None
    # The buffer's write pointer as it was then: MTB_POSITION, or an offset; None: it is not known.
    position: Optional[int] = None
    # A file with the unit's registers, their address, or ``mtb``.
    unit: Optional[str] = None
    # A chip's profile, which may say what traced.
    profile: Optional[str] = None
    # Whether it lies in the formatter's frames; None: its bytes say so.
    framed: Optional[bool] = None


class LoadedDump(NamedTuple):
    """What came of it."""

    record: CaptureRecord
    # What the debugger said of the program files.
    lines: List[str]
    # What to know of the capture.
    notes: List[str]


class _Place(NamedTuple):
    # Memory with trace in it, and what there is of the core.
    name: str
    read: Callable[[int, int], bytes]
    registers: Mapping[str, int]
    # Gives the RAM when the core had these registers.
    memory: Callable[[Mapping[str, int]], Tuple[MemoryImage, ...]]
    images: Tuple[MemoryImage, ...] = ()
    notes: Tuple[str, ...] = ()


def load_dump(session: DebugSession, request: DumpRequest, elf: Sequence[str]) -> LoadedDump:
    """Make a capture of trace that was left.

    :param elf: ELF files with the program.
    :raises CommandError: What is asked for is not there, or no buffer.
    :raises ImageError: A file cannot be read.
    """
    files = named_files(elf)
    lines = list(session.debugger.load_files(files))
    programs = files or session.debugger.program_files()
    if request.raw is not None:
        place = _nowhere(request.raw)
    else:
        place = _in_target(session.debugger, session.images) if request.file is None else _in_file(request.file)
    (capture,) = with_programs([capture_of(request, place, programs)], files)
    if not files:
        images = tuple(session.images())
        capture = capture._replace(sources=tuple(one._replace(images=images + one.images) for one in capture.sources))
    record = session.add(capture, "loaded from " + (request.raw or place.name), is_live=False)
    return LoadedDump(record, lines, list(capture.notes))


def captures_of(path: str, elf: Sequence[str]) -> List[RawCapture]:
    """Read a dump with a record in it, without its program.

    :param elf: ELF files with the program.
    :raises ImageError: A file cannot be read.
    """
    return [capture_of(DumpRequest(path), _in_file(path), elf)]


def capture_of(request: DumpRequest, place: _Place, programs: Sequence[str]) -> RawCapture:
    """Make a capture of what a request names, without its program.

    :param programs: ELF files with the symbols.
    :raises CommandError: What is asked for is not there, or no buffer.
    :raises ImageError: A file cannot be read.
    """
    if request.raw is not None:
        return _of_buffer(request, place, _whole(request.raw), request.raw, programs)
    symbol, address, length = _where(request, programs)
    record = read_record(place.read, address)
    if record is not None:
        return _of_record(record, place, programs)
    if symbol == SYMBOL:
        raise CommandError("%s: no crash is kept in %s at 0x%08x" % (place.name, SYMBOL, address))
    if not length:
        raise CommandError("--memory %s: no record is there; how many bytes?  ADDRESS,SIZE" % request.memory)
    if length > MOST_BYTES:
        raise CommandError("--memory %s: at most %d bytes" % (request.memory, MOST_BYTES))
    data = place.read(address, length)
    if len(data) < length:
        words = "%s: of the %d bytes at 0x%08x %d are there"
        raise CommandError(words % (place.name, length, address, len(data)))
    return _of_buffer(request, place, data, "%s, %s" % (place.name, symbol or "0x%08x" % address), programs)


def _whole(path: str) -> bytes:
    try:
        return read_regular(path, MOST_BYTES)
    except OSError as error:
        raise CommandError("%s: %s" % (path, error.strerror or error))


def _where(request: DumpRequest, programs: Sequence[str]) -> Tuple[str, int, int]:
    # Symbol, address, size; 0 where no size is known.
    if request.memory is None:
        for name in (SYMBOL, NORDIC):
            found = _symbol(programs, name)
            if found is not None:
                return name, found.start, found.size
        words = "the program has no %s: --memory with the buffer's SYMBOL or ADDRESS,SIZE"
        raise CommandError(words % SYMBOL if programs else "--elf is missing: the program says where its trace is")
    piece = _PIECE.match(request.memory)
    if piece is None:
        raise CommandError("--memory %s: SYMBOL, or ADDRESS,SIZE" % request.memory)
    name = piece.group(1)
    try:
        length = 0 if piece.group(2) is None else size(piece.group(2))
        if _NUMBER.match(name):
            return "", count(name), length
    except CommandError as error:
        raise CommandError("--memory %s: %s" % (request.memory, error))
    found = _symbol(programs, name)
    if found is None:
        raise CommandError('--memory %s: the program has no data "%s"' % (request.memory, name))
    return name, found.start, length or found.size


def _symbol(programs: Iterable[str], name: str) -> Optional[DataSymbol]:
    for path in programs:
        with open_elf(path) as elf:
            for symbol in read_data_symbols(elf):
                if symbol.name == name:
                    return DataSymbol(*symbol)
    return None


def _nowhere(path: str) -> _Place:
    return _Place(path, lambda address, length: b"", {}, lambda _: ())


def _in_file(path: str) -> _Place:
    dump = read_dump(path)
    program = Program(dump.images)
    images = dump.images
    return _Place("%s, %s" % (path, dump.kind), program.read, dump.registers, lambda _: images, images, dump.notes)


def _in_target(debugger: Debugger, images: Callable[[], Iterable[MemoryImage]]) -> _Place:
    def read(address: int, length: int) -> bytes:
        try:
            return debugger.read_memory(address, length)
        except (AccessError, ConnectError):
            return b""

    def memory(registers: Mapping[str, int]) -> Tuple[MemoryImage, ...]:
        anchor = Anchor(registers, debugger)
        anchor.keep(ram_in_use(images(), registers))
        return anchor.images

    name = debugger.connection()
    if name is None:
        raise CommandError("GDB has no target whose memory could be read: name a dump, or connect to one")
    return _Place(name, read, debugger.registers(), memory)


def _of_record(record: BlackBoxRecord, place: _Place, programs: Sequence[str]) -> RawCapture:
    # The trace was frozen before anything else ran, so the registers are those at its end.
    notes = list(place.notes)
    registers = dict(record.core)
    memory: Tuple[MemoryImage, ...] = ()
    if not record.is_fault:
        notes.append("a reset came while it traced: of the core's registers then nothing is known, nor of RAM")
    elif record.resets:
        words = "the program has started %s since: RAM is not what it was, and is left out"
        notes.append(words % ("once" if record.resets == 1 else "%d times" % record.resets))
    else:
        registers.update(_pushed(registers, place.read))
        # What stops a PTM stays as it was.
        kept = (_STOP,) if record.protocol == "ptm" else ()
        memory = tuple(_without(place.memory(registers), _own(programs, kept)))
    core = Core("cpu_0", core_type(record.cpuid), registers, memory)
    source = TraceSource(words_of(record.protocol), record.protocol, record.registers, core, place.images)
    if record.protocol == "mtb":
        buffer = arranged(Buffer(record.trace, BufferFormat.RAW, record.pointer), record.protocol)
    else:
        buffer = _drained(record)
    name = "the black box in %s" % place.name
    return RawCapture(buffer.data, buffer.format, (source,), buffer.end, name, tuple(notes), True, True)


def _own(programs: Iterable[str], kept: Sequence[str]) -> List[DataSymbol]:
    # What the black box has changed since, its own data.
    found: List[DataSymbol] = []
    for path in programs:
        with open_elf(path) as elf:
            symbols = read_data_symbols(elf)
            found += [symbol for symbol in symbols if symbol.name.startswith(SYMBOL) and symbol.name not in kept]
    return found


def _without(images: Iterable[MemoryImage], pieces: Sequence[DataSymbol]) -> Iterator[MemoryImage]:
    for image in images:
        at = image.address
        for piece in sorted(pieces, key=lambda one: one.start):
            if at <= piece.start < image.address + len(image.data):
                yield MemoryImage(at, image.data[at - image.address : piece.start - image.address], image.name)
                at = piece.start + piece.size
        yield MemoryImage(at, image.data[max(at - image.address, 0) :], image.name)


def _drained(record: BlackBoxRecord) -> Arranged:
    # Frames lie at multiples of 16 bytes of the buffer: what is left of the oldest one is of no use.
    is_whole = not record.status & 1 and record.pointer == len(record.trace)
    first = (record.pointer - len(record.trace)) % max(record.capacity, 1)
    return Arranged(
        record.trace[-first % _FRAME :], BufferFormat.FRAMES, BufferEnd.STARTED if is_whole else BufferEnd.WRAPPED
    )


def _pushed(registers: Mapping[str, int], read: Callable[[int, int], bytes]) -> Mapping[str, int]:
    # What the exception has pushed and the handler's first instruction may have changed: R12.
    if registers["lr"] < _EXC_RETURN or registers.get("cfsr", 0) & _NO_FRAME:
        return {}
    data = read(registers["psp" if registers["lr"] & _PROCESS else "msp"] + _R12, 4)
    return {"r12": int.from_bytes(data, "little")} if len(data) == 4 and "r12" not in registers else {}


def _of_buffer(request: DumpRequest, place: _Place, data: bytes, name: str, programs: Sequence[str]) -> RawCapture:
    notes = list(place.notes)
    unit = _unit(request, place, programs, notes)
    form = None if request.framed is None else BufferFormat.FRAMES if request.framed else BufferFormat.RAW
    core = Core("cpu_0", unit.core, place.registers, place.memory(place.registers))
    source = TraceSource(words_of(unit.protocol), unit.protocol, unit.registers, core, place.images)
    try:
        PROTOCOLS[unit.protocol].config(source)
    except CaptureError as error:
        option = "--unit %s" % request.unit if request.unit is not None else "--profile %s" % request.profile
        raise CommandError("%s: %s" % (option, error))
    # What is kept by "etb_trace" was read from its oldest byte on.
    is_turned = request.position is None and name.endswith(NORDIC)
    position = 0 if is_turned else request.position
    try:
        buffer = arranged(Buffer(data, form, position), unit.protocol, source, programs)
    except CommandError as error:
        raise CommandError("%s: %s" % (request.raw or request.memory or name, error))
    notes += buffer.notes
    return RawCapture(buffer.data, buffer.format, (source,), buffer.end, "the buffer in " + name, tuple(notes))


def _unit(request: DumpRequest, place: _Place, programs: Sequence[str], notes: List[str]) -> Unit:
    unit = unit_of(request.unit, request.profile, place.read)
    if request.memory in (None, NORDIC) and request.raw is None:
        # What the unit was programmed with is in the program (sdk-nrf, "etb_trace").
        valid = _symbol(programs, _NORDIC_VALID)
        if valid is not None and int.from_bytes(place.read(valid.start, 4), "little") != _NORDIC_MAGIC:
            notes.append("%s is not 0x%08x: no trace was kept in %s" % (_NORDIC_VALID, _NORDIC_MAGIC, NORDIC))
        for name, register in (("etm_trcconfigr", "TRCCONFIGR"), ("etm_trctraceidr", "TRCTRACEIDR")):
            symbol = _symbol(programs, name)
            if symbol is not None:
                value = Program(image for path in programs for image in _loaded(path)).read(symbol.start, 4)
                found = place.read(symbol.start, 4) or value
                unit = unit._replace(registers={**unit.registers, register: int.from_bytes(found, "little")})
    return unit


def _loaded(path: str) -> List[MemoryImage]:
    from gdb_etm.program.image import load_elf

    return load_elf(path)
