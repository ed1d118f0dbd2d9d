"""PTM packets as bytes: those compressed against no earlier packet.

The encodings are IHI 0035B, 4.5; each function names its paragraph.  What depends on the packets before (addresses,
timestamps) and what gathers (atoms) is in ``writer.py``.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from gdb_etm.protocols.armv7.fields import IsaState, Reason, Reference

# A-sync (4.5.1).
A_SYNC = bytes(5) + b"\x80"
# Trigger (4.5.7).
TRIGGER = b"\x0c"
# Exception return (4.5.8).
EXCEPTION_RETURN = b"\x76"
# What is set in the first byte of every Atom packet (4.5.3).
_ATOM_HEADER = 0x80
_REASONS = {Reason.PERIODIC: 0, Reason.ENABLED: 1, Reason.OVERFLOW: 2, Reason.DEBUG: 3}


class Regime(NamedTuple):
    """In which state the processor executes."""

    non_secure: bool = False
    hyp: bool = False


def count(cycles: int, header: int = 0) -> bytes:
    """Write a cycle count: four bits, then seven a byte (4.4).

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
    reference: Reference, reason: Reason, regime: Regime, cycles: Optional[int] = None, context_id: bytes = b""
) -> bytes:
    """Write I-sync (4.5.2).

    :param reference: The next instruction.
    :param cycles: Cycles since the last count; None without cycle-accurate tracing, and in a periodic one.
    :param context_id: The Context ID, as many bytes as ETMCR says.
    """
    thumb = reference.state in (IsaState.THUMB, IsaState.THUMBEE)
    alternative = reference.state is IsaState.THUMBEE
    info = 1 | regime.hyp << 1 | alternative << 2 | regime.non_secure << 3 | _REASONS[reason] << 5
    address = (reference.address | thumb).to_bytes(4, "little")
    # Here the first byte of a count has bit 7 set, as seen of a Cortex-A9 and a Cortex-A15.
    return b"\x08" + address + bytes((info,)) + (b"" if cycles is None else count(cycles, 0x80)) + context_id


def atoms(pattern: str) -> bytes:
    """Write 1 to 5 atoms (4.5.3), oldest first: ``"E"`` and ``"N"``."""
    stop = 1 << len(pattern)
    bits = int(pattern.replace("E", "0").replace("N", "1"), 2)
    return bytes((_ATOM_HEADER | (stop | bits) << 1,))


def counted_atom(taken: bool, cycles: int) -> bytes:
    """Write one atom with its cycle count (4.5.3)."""
    return count(cycles, _ATOM_HEADER | (not taken) << 1)


def context_id(value: bytes) -> bytes:
    """Write Context ID (4.5.6): 1, 2 or 4 bytes, as ETMCR says."""
    return b"\x6e" + value


def vmid(value: int) -> bytes:
    """Write VMID (4.5.11), from PFTv1.1."""
    return bytes((0x3C, value))


def to_gray(value: int) -> int:
    """Make a Gray-coded number (ETMCCER bit 28)."""
    return value ^ value >> 1
