"""PTM packets as bytes: those that are not compressed against packets before them.

The encodings are IHI 0035B, 4.5; each function names its paragraph.  What depends on the packets before (addresses,
timestamps) and what gathers (atoms) is in ``writer.py``.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from gdb_etm.protocols.armv7.fields import SHIFT, Reason, Reference, State

A_SYNC = bytes(5) + b"\x80"
"""A-sync (4.5.1)."""
TRIGGER = b"\x0c"
"""Trigger (4.5.7)."""
IGNORE = b"\x66"
"""Ignore (4.5.9)."""
EXCEPTION_RETURN = b"\x76"
"""Exception return (4.5.8)."""

MOST_ATOMS = 5
_REASONS = {Reason.PERIODIC: 0, Reason.ENABLED: 1, Reason.OVERFLOW: 2, Reason.DEBUG: 3}
_ATOM_HEADERS = (0x80, 0x88, 0x90, 0xA0, 0xC0)
# What a fifth address byte has above its address bits.
_MARKERS = {State.ARM: 0x08, State.THUMB: 0x10, State.THUMBEE: 0x10, State.JAZELLE: 0x20}
_INFORMED = 0x40


class Regime(NamedTuple):
    """In which state the processor executes."""

    non_secure: bool = False
    hyp: bool = False


def count(cycles: int, header: int = 0) -> bytes:
    """Write a cycle count (4.4): four bits in the first byte, then seven a byte.

    :param cycles: 32 bits.
    :param header: What the other bits of the first byte say.
    """
    rest = cycles >> 4
    data = bytearray((header | (rest > 0) << 6 | (cycles & 0xF) << 2,))
    while rest:
        data.append((rest > 0x7F) << 7 | rest & 0x7F)
        rest >>= 7
    return bytes(data)


def sync(
    place: Reference, reason: Reason, regime: Regime, cycles: Optional[int] = None, context_id: bytes = b""
) -> bytes:
    """Write I-sync (4.5.2).

    :param place: The next instruction.
    :param cycles: Cycles since the last count; None without cycle-accurate tracing, and in a periodic one.
    :param context_id: The Context ID, as many bytes as ETMCR says.
    """
    thumb = place.state in (State.THUMB, State.THUMBEE)
    alternative = place.state is State.THUMBEE
    info = 1 | regime.hyp << 1 | alternative << 2 | regime.non_secure << 3 | _REASONS[reason] << 5
    address = (place.address | thumb).to_bytes(4, "little")
    return b"\x08" + address + bytes((info,)) + (b"" if cycles is None else count(cycles)) + context_id


def atoms(pattern: str) -> bytes:
    """Write 1 to 5 atoms (4.5.3), oldest first: ``"E"`` and ``"N"``."""
    bits = sum((atom == "N") << 1 + place for place, atom in enumerate(reversed(pattern)))
    return bytes((_ATOM_HEADERS[len(pattern) - 1] | bits,))


def counted_atom(taken: bool, cycles: int) -> bytes:
    """Write one atom with its cycle count (4.5.3)."""
    return count(cycles, 0x80 | (not taken) << 1)


def address(place: Reference, old: Reference, informed: bool) -> bytes:
    """Write the address bytes of a branch (4.5.4), as few as tell it.

    :param old: The last address that was output.
    :param informed: Whether exception information bytes follow.
    """
    shift = SHIFT[place.state]
    value = place.address >> shift
    size = _ADDRESS_BYTES
    if _is_same_set(place.state, old.state):
        changed = value ^ old.address >> shift
        size = next((size for size in (1, 2, 3, 4) if changed >> _BITS[size] == 0), _ADDRESS_BYTES)
        size = max(size, 2) if informed else size
    data = bytearray((value << 1 & 0x7E | 1,))
    value >>= 6
    while len(data) < size:
        data[-1] |= 0x80
        data.append(value & 0x7F)
        value >>= 7
    if size == _ADDRESS_BYTES:
        data[-1] |= _MARKERS[place.state]
    if informed:
        data[-1] |= _INFORMED
    return bytes(data)


_ADDRESS_BYTES = 5
# How many bits of an address the shorter forms have: the last byte holds six.
_BITS = {1: 6, 2: 12, 3: 19, 4: 26}


def _is_same_set(new: State, old: State) -> bool:
    # ThumbEE is told from Thumb by the AltISA bit alone.
    thumbs = (State.THUMB, State.THUMBEE)
    return new is old or new in thumbs and old in thumbs


def information(number: int, place: Reference, regime: Regime, long: bool = False) -> bytes:
    """Write the exception information bytes of a branch (4.5.4).

    :param number: Exception type, 0 for none.
    :param place: Where execution goes on.
    :param long: Whether to write the second byte where nothing needs it.
    """
    more = long or number > 0xF or regime.hyp
    first = more << 7 | (place.state is State.THUMBEE) << 6 | (number & 0xF) << 1 | regime.non_secure
    return bytes((first, regime.hyp << 5 | number >> 4)) if more else bytes((first,))


def context_id(value: bytes) -> bytes:
    """Write Context ID (4.5.6): 1, 2 or 4 bytes, as ETMCR says."""
    return b"\x6e" + value


def vmid(value: int) -> bytes:
    """Write VMID (4.5.11), from PFTv1.1."""
    return bytes((0x3C, value))


def to_gray(value: int) -> int:
    """Make a Gray-coded number (ETMCCER bit 28)."""
    return value ^ value >> 1
