"""ETMv3 packets as bytes: those compressed against no earlier packet.

The encodings are those of the Embedded Trace Macrocell Architecture Specification (IHI 0014Q), chapter 7 and table
7.1.  What depends on the packets before (addresses, timestamps) and what gathers (atoms) is in
``writer.py``.
"""

from __future__ import annotations

from typing import Optional, Tuple

from gdb_etm.protocols.armv7.fields import IsaState
from gdb_etm.protocols.encode.output import continued

# Where packets begin (7.10.4).
A_SYNC = b"\x00\x00\x00\x00\x00\x80"
# The trigger event occurred.
TRIGGER = b"\x0c"
# The instruction before it returns from an exception, on an ARMv7-M processor.
EXCEPTION_EXIT = b"\x76"
# What is stored after it is stored by an exception's entry, on an ARMv7-M processor.
EXCEPTION_ENTRY = b"\x7e"
# Data packets were left out to keep the FIFO from overflowing (7.4.6).
DATA_SUPPRESSED = b"\x62"

_MOST_PAIRS = 7
_MOST_WAITS = 8
_MOST_EXECUTED = 15


# P-headers (7.3.1).


def plain_header(atoms: str) -> Tuple[bytes, int]:
    """Write the P-header that holds most of the oldest atoms.

    :param atoms: ``E`` and ``N``, the oldest first; at least one.
    :returns: The packet, and how many atoms it holds.
    """
    run = min(_run(atoms, "E"), _MOST_EXECUTED)
    failed = atoms[run : run + 1] == "N"
    if run + failed < 2 <= len(atoms):
        return bytes((0x82 | _two(atoms),)), 2
    return bytes((0x80 | failed << 6 | run << 2,)), run + failed


def cycle_header(atoms: str) -> Tuple[bytes, int]:
    """Write a cycle-accurate P-header that holds most of the oldest atoms.

    :param atoms: ``W`` for a cycle, ``E`` and ``N``, the oldest first; at least one.
    :returns: The packet, and how many atoms it holds.
    """
    if atoms[0] != "W":
        return bytes((0x92 | (atoms[0] == "N") << 2,)), 1
    pairs = 0
    while pairs < _MOST_PAIRS and atoms.startswith("WE", 2 * pairs):
        pairs += 1
    failed = atoms.startswith("WN", 2 * pairs)
    held = 2 * (pairs + failed)
    waits = min(_run(atoms, "W"), _MOST_WAITS)
    executed = atoms[waits : waits + 1] == "E"
    if held < 3 and len(atoms) >= 3 and "W" not in atoms[1:3]:
        return bytes((0x82 | _two(atoms[1:]),)), 3
    # A single cycle has a format of its own, 0x80, which trace units do not use and some decoders do not know.
    if held < waits + executed:
        return bytes((0xA0 | executed << 6 | waits - 1 << 2,)), waits + executed
    return bytes((0x80 | failed << 6 | pairs << 2,)), held


def _run(atoms: str, atom: str) -> int:
    return len(atoms) - len(atoms.lstrip(atom))


def _two(atoms: str) -> int:
    # Format 2: the older atom in bit 3, the other in bit 2; a failed condition is 1.
    return (atoms[0] == "N") << 3 | (atoms[1] == "N") << 2


# Synchronisation and cycles.


def isync(reason: int, address: int, state: IsaState = IsaState.THUMB, cycles: Optional[int] = None) -> bytes:
    """Write an I-sync packet without a Context ID (7.10.5).

    :param reason: 0 periodic, 1 tracing enabled, 2 after an overflow, 3 after debug state.
    :param address: Of the next instruction.
    :param cycles: Cycles since the last P-header, 0 when they are unknown; None for the form without.
    """
    jazelle = state is IsaState.JAZELLE
    info = 0x01 | (state is IsaState.THUMBEE) << 2 | jazelle << 4 | reason << 5
    thumb = state in (IsaState.THUMB, IsaState.THUMBEE)
    header = b"\x08" if cycles is None else b"\x70" + continued(cycles)
    return header + bytes((info,)) + (address | thumb).to_bytes(4, "little")


def cycle_count(cycles: int) -> bytes:
    """Write Cycle Count (7.3.4).

    Cycles before the last I-sync packet that was not periodic, 0 when unknown.
    """
    return b"\x04" + continued(cycles)


# Data (7.4).


def data_value(value: Optional[int]) -> Tuple[int, bytes]:
    """Give a data value's size bits and bytes (table 7.17).

    :param value: 32 bits; None when values are not traced.
    """
    if not value:
        return 0, b""
    code = 1 if value < 0x100 else 2 if value < 0x10000 else 3
    return code << 2, value.to_bytes(1 << code - 1, "little")


def late_value(tag: int, value: int) -> bytes:
    """Write Out-of-order data.

    :param tag: 1 to 3, as in its placeholder.
    """
    size, data = data_value(value)
    return bytes((tag << 5 | size,)) + data
