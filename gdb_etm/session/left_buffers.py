"""A trace buffer alone.

What traced it, where it begins, and whether it is in frames.

What the user does not say is found by the trace itself: frames and bytes by their synchronisation, the oldest byte by
where decoding the buffer as it lies breaks off.

Ref: IHI 0064, 6.4.2 (A-Sync of ETMv4); IHI 0014Q, 7.7.1 and IHI 0035B, 4.2.1 (A-sync of ETMv3 and PTM).
"""

from __future__ import annotations

import os
import re
from typing import Callable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.capture import BufferEnd, BufferFormat, RawCapture, TraceSource
from gdb_etm.dumps.record import page_of
from gdb_etm.dumps.unit_files import protocol_of, read_unit
from gdb_etm.errors import CommandError, EtmError
from gdb_etm.framing.formatter import deframe
from gdb_etm.history.build import build
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.profiles import library
from gdb_etm.program.image import load_elf
from gdb_etm.protocols.elements import Gap

_MTB = "mtb"
_PACKET, _WRAP, _FRAME = 8, 1 << 2, 16
_SYNCS = {"etmv4": re.compile(rb"\0{11}\x80"), "etmv3": re.compile(rb"\0{5}\x80"), "ptm": re.compile(rb"\0{5}\x80")}
_NAMES = {"etmv4": "ETM_0", "etmv3": "ETM_0", "ptm": "PTM_0", _MTB: "MTB_0"}
_ADDRESS = re.compile(r"0[xX][0-9a-fA-F]{1,8}\Z")
# DEVARCH.ARCHID of an ETMv4 and of an MTB; ETMIDR, which older units have.
_DEVARCH, _ETMV4, _MTB_ARCH, _ETMIDR = 0xFBC, 0x4A13, 0x0A31, 0x1E4
# How far behind the seam decoding may go wrong, in bytes; of so many gaps the first are looked at.
_NEAR, _GAPS = 256, 4


class Unit(NamedTuple):
    """What traced."""

    protocol: str
    # By datasheet name.
    registers: Mapping[str, int]
    # The processor's name.
    core: str = "Cortex-M"


class Buffer(NamedTuple):
    """The bytes of a buffer, and what is known of them."""

    data: bytes
    # None: their synchronisation says.
    format: Optional[BufferFormat]
    # The write pointer: MTB_POSITION, or an offset in bytes; None: it is not known.
    position: Optional[int]
    end: BufferEnd = BufferEnd.UNKNOWN
    notes: Tuple[str, ...] = ()


class Arranged(NamedTuple):
    """A buffer with its oldest byte first."""

    data: bytes
    format: BufferFormat
    end: BufferEnd
    notes: Tuple[str, ...] = ()


def words_of(protocol: str) -> str:
    """Name the source of a protocol's trace."""
    return _NAMES[protocol]


def unit_of(text: Optional[str], profile: Optional[str], read: Callable[[int, int], bytes]) -> Unit:
    """Find what traced.

    :param text: A file with registers, the address of the registers, or ``mtb``.
    :param profile: A chip's profile.
    :param read: Reads memory, where the registers may still be alive.
    :raises CommandError: Nothing says it.
    :raises ImageError: The file cannot be read.
    """
    known = library.load(profile) if profile is not None else None
    registers = dict(known.unit) if known is not None else {}
    if text is None and known is not None and known.mtb is not None:
        return _alive(known.mtb, read) or Unit(_MTB, {})
    if text is not None and text.lower() == _MTB:
        return Unit(_MTB, {})
    if text is not None and _ADDRESS.match(text):
        found = _alive(int(text, 16), read)
        if found is None:
            raise CommandError("--unit %s: no registers of a trace unit are there" % text)
        return found
    if text is not None and not os.path.exists(text):
        raise CommandError("--unit %s: no such file; or the address of the unit's registers, or mtb" % text)
    registers.update(read_unit(text) if text is not None else {})
    protocol = protocol_of(registers)
    if not protocol:
        words = "what traced it?  --unit with a file of the unit's registers, their address, or mtb"
        raise CommandError(words if known is None else "profile %s does not say what traced: %s" % (profile, words))
    return Unit(protocol, registers)


def _alive(base: int, read: Callable[[int, int], bytes]) -> Optional[Unit]:
    # The registers of a unit that can still be read.
    def word(offset: int) -> Optional[int]:
        data = read(base + offset, 4)
        return int.from_bytes(data, "little") if len(data) == 4 else None

    architecture = (word(_DEVARCH) or 0) & 0xFFFF
    protocol = {_ETMV4: "etmv4", _MTB_ARCH: _MTB}.get(architecture, "")
    if not protocol and word(_ETMIDR):
        protocol = protocol_of({"ETMIDR": word(_ETMIDR) or 0})
    if not protocol:
        return None
    wanted = ((register.name, word(register.offset)) for register in page_of(protocol) if register.width == 32)
    return Unit(protocol, {name: value for name, value in wanted if value is not None})


def arranged(
    buffer: Buffer, protocol: str, source: Optional[TraceSource] = None, programs: Sequence[str] = ()
) -> Arranged:
    """Put the oldest byte of a buffer first.

    :param source: What traced, so that it can be decoded to find the oldest byte; None: that is not looked for.
    :param programs: ELF files with the program.
    :raises CommandError: It is no buffer.
    """
    if protocol == _MTB:
        _check(buffer)
        form, step = BufferFormat.RAW, _PACKET
    elif not buffer.data:
        raise CommandError("0 bytes are no buffer")
    else:
        form = buffer.format or _format_of(buffer.data, protocol)
        step = _FRAME if form is BufferFormat.FRAMES else 4
        if form is BufferFormat.FRAMES and len(buffer.data) % _FRAME:
            raise CommandError("%d bytes are no frames, which have 16 each: is it cut?" % len(buffer.data))
    if buffer.position is not None:
        return _turned(buffer, protocol, form)
    if buffer.end is not BufferEnd.UNKNOWN:
        return Arranged(buffer.data, form, buffer.end)
    data = _without_rest(buffer.data, step)
    if len(data) < len(buffer.data):
        words = "its last %d bytes are zeros: nothing was written there, and the buffer has not wrapped"
        return Arranged(data, form, BufferEnd.STARTED, (words % (len(buffer.data) - len(data)),))
    if source is None:
        return Arranged(data, form, BufferEnd.UNKNOWN)
    filled = source._replace(images=(*(image for path in programs for image in load_elf(path)), *source.images))
    seam = _seam(data, form, filled, step)
    if seam is None:
        words = "no write pointer, and nothing in the trace says where it begins: it is taken as it lies"
        return Arranged(data, form, BufferEnd.UNKNOWN, (words,))
    words = "no write pointer: the trace breaks off at byte 0x%x, so that is where its oldest byte is taken to be"
    return Arranged(data[seam:] + data[:seam], form, BufferEnd.WRAPPED, (words % seam,))


def _check(buffer: Buffer) -> None:
    length = len(buffer.data)
    if not length or length % _PACKET:
        raise CommandError("%d bytes are no buffer: packets have 8 bytes each" % length)
    if buffer.position is not None and length & (length - 1):
        raise CommandError("%d bytes are not the whole buffer, which has a power of two" % length)


def _turned(buffer: Buffer, protocol: str, form: BufferFormat) -> Arranged:
    data, position = buffer.data, buffer.position or 0
    if protocol == _MTB:
        within = position & ~(_PACKET - 1) & len(data) - 1
        is_full = bool(position & _WRAP)
    else:
        if position > len(data):
            raise CommandError("--position 0x%x is not in the buffer of 0x%x bytes" % (position, len(data)))
        within = position % max(len(data), 1)
        # What was never written is zero; there is no bit that says so.
        is_full = within == 0 or any(data[within:])
    if not is_full:
        return Arranged(data[:within], form, BufferEnd.STARTED)
    turned = data[within:] + data[:within]
    if form is BufferFormat.FRAMES:
        # Frames lie at multiples of 16 bytes of the buffer.
        turned = turned[-within % _FRAME : len(turned) - within % _FRAME]
    return Arranged(turned, form, BufferEnd.WRAPPED)


def _format_of(data: bytes, protocol: str) -> BufferFormat:
    # Synchronisation packets, which are whole in the right one of the two.
    sync = _SYNCS[protocol]
    framed = 0
    if len(data) % _FRAME == 0:
        framed = max((len(sync.findall(one.data)) for one in deframe(data).streams.values()), default=0)
    return BufferFormat.FRAMES if framed >= max(len(sync.findall(data)), 1) else BufferFormat.RAW


def _without_rest(data: bytes, step: int) -> bytes:
    # Without what was never written: zeros at the end, in whole steps.
    end = -(-len(data.rstrip(b"\0")) // step) * step
    return data[:end] if len(data) - end >= max(step, _FRAME) else data


def _seam(data: bytes, form: BufferFormat, source: TraceSource, step: int) -> Optional[int]:
    # Where to cut so that decoding breaks off less; None where no cut is better than none.
    def decoded(cut: int) -> List[ExecutionHistory]:
        try:
            return list(build(RawCapture(data[cut:] + data[:cut], form, (source,), BufferEnd.UNKNOWN)).values())
        except EtmError:
            return []

    as_it_lies = decoded(0)
    gaps = [gap for history in as_it_lies for gap in _inner(history)]
    best, found = (len(gaps), 0), None
    for gap in gaps[:_GAPS]:
        last = min(gap.offset // step * step, len(data) - step)
        for cut in range(last, max(last - _NEAR, 0), -step):
            tried = decoded(cut)
            score = sum(len(_inner(history)) for history in tried), -sum(map(len, tried))
            if tried and score[0] < len(gaps) and score < best:
                best, found = score, cut
    return found


def _inner(history: ExecutionHistory) -> List[Gap]:
    # Where it breaks off, but for how it begins.
    return [event for before, event in history.interruptions() if before and isinstance(event, Gap)]
