"""The RAM of a program that an MTB may write to."""

from __future__ import annotations

import re
from typing import Optional

from gdb_etm.coresight.sink import BufferPlace
from gdb_etm.errors import CommandError
from gdb_etm.program.ram import load_writable
from gdb_etm.session.anchor import STACK_POINTERS, ram_in_use
from gdb_etm.session.free_ram import SMALLEST, free_place
from gdb_etm.session.numbers import count, size
from gdb_etm.session.places import required
from gdb_etm.session.session import DebugSession
from gdb_etm.views.text import bytes_text

# The arrays that are taken where nothing is said; NXP's tools know the other name.
DEFAULTS = ("mtb_buffer", "__mtb_buffer__")
# What the process beside the debugger puts back when the debugger is killed.
_LARGEST_LENT = 1 << 16
_FREE = re.compile(r"\s*free\s*(?:,\s*(\S+)\s*)?\Z")
_PLACE = re.compile(r"\s*(0[xX][0-9a-fA-F]+|[0-9]+)\s*,\s*(\S+)\s*\Z")


def buffer_of(session: DebugSession, text: Optional[str]) -> Optional[BufferPlace]:
    """Find the buffer that a start of tracing names.

    :param text: A symbol, ``ADDRESS,SIZE``, ``free`` or ``free,SIZE``; None takes the array with the usual name.
    :returns: None where the trace unit is another one and nothing was said, or nothing is known.
    :raises CommandError: There is no such object, it cannot be a buffer, or the program uses that RAM.
    """
    trace = session.connection.trace if session.connection is not None else None
    if text is None:
        if trace is None or trace.unit.protocol != "mtb":
            return None
        for name in DEFAULTS:
            try:
                return _array(session, name)
            except CommandError:
                pass
        return None
    if trace is not None and trace.options is not None and _is_as_before(session, text):
        # The program has run since: its stack is elsewhere, and the buffer stays.
        return trace.options.buffer
    free = _FREE.match(text)
    if free is not None:
        wanted = None if free[1] is None else size(free[1])
        _check_lent(wanted or 0)
        return free_place(session, wanted)
    found = _PLACE.match(text)
    if found is None:
        return _array(session, text)
    place = BufferPlace(count(found.group(1)), size(found.group(2)), False)
    _check(place, "--buffer %s" % text)
    _check_lent(place.size)
    _check_free(session, place)
    return place


def _array(session: DebugSession, name: str) -> BufferPlace:
    pieces = required(session.locations).data(name)
    first, last = pieces[0]
    length = last - first + 1
    place = BufferPlace(first, 1 << length.bit_length() - 1)
    _check(place, "%s, 0x%08x-0x%08x" % (name, first, last))
    return place


def _check_lent(length: int) -> None:
    if length > _LARGEST_LENT:
        words = (
            "%s of lent RAM are not put back when GDB is killed, at most %s; keep an array for the trace, and name it"
        )
        raise CommandError(words % (bytes_text(length), bytes_text(_LARGEST_LENT)))


def _is_as_before(session: DebugSession, text: str) -> bool:
    return session.request is not None and session.request.buffer == text and not _is_name(text)


def _is_name(text: str) -> bool:
    return _FREE.match(text) is None and _PLACE.match(text) is None


def _check(place: BufferPlace, what: str) -> None:
    if place.size & (place.size - 1) or place.size < SMALLEST:
        raise CommandError("%s: %d bytes are no buffer: a power of two, at least %d" % (what, place.size, SMALLEST))
    if place.address % place.size:
        words = "%s: a buffer of %s begins at a multiple of its size, such as 0x%08x"
        raise CommandError(words % (what, bytes_text(place.size), place.address // place.size * place.size))


def _check_free(session: DebugSession, place: BufferPlace) -> None:
    # Sections are known, and the stack as far as it reaches now; how deep it will be nobody knows.
    images = session.images()
    end = place.address + place.size
    for path in dict.fromkeys(image.name for image in images):
        for low, high in load_writable(path):
            if low < end and place.address < high:
                words = (
                    "the program's variables are at 0x%08x-0x%08x, and in %s; keep an array for the trace, and name it"
                )
                raise CommandError(words % (low, high - 1, place))
    registers = session.debugger.registers()
    stacks = [registers[name] for name in STACK_POINTERS if registers.get(name)]
    for low, high in ram_in_use(images, registers):
        if any(place.address < high and max(low, pointer) < end and low <= pointer <= high for pointer in stacks):
            raise CommandError("the stack is in %s: it reaches down to 0x%08x now" % (place, min(stacks)))
