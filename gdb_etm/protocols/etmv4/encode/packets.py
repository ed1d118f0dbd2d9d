"""ETMv4 packets as bytes: those compressed against no earlier packet.

The encodings are IHI 0064 chapter 6.4; each function names its paragraph.  What depends on the packets before
(addresses, contexts, timestamps) and what gathers (atoms) is in ``writer.py``.
"""

from __future__ import annotations

from typing import Dict, Iterable, Optional

from gdb_etm.protocols.encode.output import continued

# Alignment synchronisation (6.4.2).
A_SYNC = bytes(11) + b"\x80"
# What ran just before is not in the trace (6.4.2).
TRACE_ON = b"\x04"
# Packets were lost (6.4.2).
OVERFLOW = b"\x00\x05"
# An exception return; on M-profile a P0 element (6.4.5).
EXCEPTION_RETURN = b"\x07"

# Conditional elements before it may never get a result (6.4.9).
CONDITIONAL_FLUSH = b"\x43"

_MOST_COUNT = 0xFFFFF
_MISPREDICT_ATOMS: Dict[str, int] = {"": 0, "E": 1, "EE": 2, "N": 3}
_MOST_SYNC_ATOMS = 4


def count20(value: int) -> bytes:
    """Write a number of cycles in at most three bytes (6.4.3, 6.4.6)."""
    return continued(value & _MOST_COUNT)


def changed_bytes(value: int, old: int) -> bytes:
    """Write the low bytes of a timestamp that changed (6.4.3, 6.5.4)."""
    changed = value ^ old
    data = bytearray()
    for index in range(8):
        more = changed >> (7 * index + 7) != 0
        data.append((value >> (7 * index) & 0x7F) | more << 7)
        if not more:
            return bytes(data)
    return bytes(data) + bytes((value >> 56,))


# Synchronisation (6.4.2).


def trace_info(
    threshold: Optional[int] = None,
    conditional: int = 0,
    loads: bool = False,
    stores: bool = False,
    p0_key: Optional[int] = None,
    speculation: Optional[int] = None,
) -> bytes:
    """Write Trace Info, which resets the compression state (6.4.2).

    :param threshold: Cycle count threshold, 0 to 0xFFF; None when cycle counting is off.
    :param conditional: Which conditional non-branch instructions are traced, as in TRCCONFIGR.COND, 0 to 7.
    :param loads: Whether loads are P0 instructions.
    :param stores: Whether stores are P0 instructions.
    :param p0_key: Key of the next P0 element; None leaves the section out, which means 0.
    :param speculation: How many P0 elements are uncommitted; None leaves the section out, which means 0.
    """
    info = (threshold is not None) | conditional << 1 | loads << 4 | stores << 5
    sections = [info, p0_key, speculation, threshold]
    present = sum(1 << bit for bit, value in enumerate(sections) if value is not None)
    return b"\x01" + continued(present) + b"".join(continued(value) for value in sections if value is not None)


# Cycle counts (6.4.6).


def cycle_count_1(cycles: Optional[int], commits: Optional[int] = None) -> bytes:
    """Write Cycle Count format 1 (6.4.6).

    :param cycles: Cycles above the threshold, or None when unknown.
    :param commits: How many P0 elements it commits, 0 or more; None in commit mode 1, where it has no such section.
    """
    section = b"" if commits is None else continued(commits)
    return b"\x0f" + section if cycles is None else b"\x0e" + section + count20(cycles)


def cycle_count_2(cycles: int, commits: int, max_speculation: int) -> bytes:
    """Write Cycle Count format 2 (6.4.6), which commits in either commit mode.

    :param cycles: Cycles above the threshold, 0 to 15.
    :param commits: 1 to 16, or up to 15 less than TRCIDR8.MAXSPEC (at most all of that).
    :param max_speculation: TRCIDR8.MAXSPEC.
    """
    if 1 <= commits <= 16:
        return bytes((0x0C, commits - 1 << 4 | cycles))
    return bytes((0x0D, commits + 15 - max_speculation << 4 | cycles))


def cycle_count_3(cycles: int, commits: Optional[int] = None) -> bytes:
    """Write Cycle Count format 3 (6.4.6).

    :param cycles: Cycles above the threshold, 0 to 3.
    :param commits: 1 to 4; None in commit mode 1, where it commits nothing.
    """
    return bytes((0x10 | (0 if commits is None else commits - 1) << 2 | cycles,))


# Data synchronisation markers (6.4.7).


def numbered_sync(number: int) -> bytes:
    """Write a Numbered Data Synchronization Marker (6.4.7), 0 to 7."""
    return bytes((0x20 | number,))


def unnumbered_sync(atoms: int = 0) -> bytes:
    """Write an Unnumbered Data Synchronization Marker, 0 to 4 E atoms (6.4.7)."""
    if not 0 <= atoms <= _MOST_SYNC_ATOMS:
        raise ValueError("%d atoms in a data synchronization marker; at most %d" % (atoms, _MOST_SYNC_ATOMS))
    return bytes((0x28 | atoms,))


# The end of speculation (6.4.8).


def commit(elements: int) -> bytes:
    """Write Commit: the oldest uncommitted P0 elements, at least 1 (6.4.8)."""
    return b"\x2d" + continued(elements)


def cancel_1(elements: int, mispredict: bool = False) -> bytes:
    """Write Cancel format 1 (6.4.8).

    :param elements: How many of the youngest P0 elements never happened, at least 1.
    :param mispredict: Whether the last atom that is left changes its direction.
    """
    return bytes((0x2E | mispredict,)) + continued(elements)


def cancel_2(atoms: str = "") -> bytes:
    """Write Cancel format 2: atoms, one cancelled element, a mispredict (6.4.8).

    :param atoms: ``""``, ``"E"``, ``"EE"`` or ``"N"``, oldest first.
    """
    return bytes((0x34 | _MISPREDICT_ATOMS[atoms],))


def cancel_3(elements: int, atom: bool = False) -> bytes:
    """Write Cancel format 3 (6.4.8): cancelled P0 elements, then a mispredict.

    :param elements: 2 to 5.
    :param atom: Whether an E atom comes before it all.
    """
    return bytes((0x38 | elements - 2 << 1 | atom,))


def mispredict(atoms: str = "") -> bytes:
    """Write Mispredict (6.4.8): atoms, then the last atom changes its direction.

    :param atoms: ``""``, ``"E"``, ``"EE"`` or ``"N"``, oldest first.
    """
    return bytes((0x30 | _MISPREDICT_ATOMS[atoms],))


# Events (6.4.11).


def event(numbers: Iterable[int]) -> bytes:
    """Write Event: one or more of the events 0 to 3 (6.4.11)."""
    return bytes((0x70 | sum(1 << number for number in numbers),))


# Conditional non-branch instructions (6.4.9).


def result_2(skip: bool, token: int) -> bytes:
    """Write Conditional Result format 2 (6.4.9).

    :param skip: Whether it is for the key after the next one.
    :param token: 0, 1 or 2.
    """
    return bytes((0x48 | skip << 2 | token,))
