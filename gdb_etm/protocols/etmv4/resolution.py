"""Packets that resolve P0 elements: commit, cancel, mispredict, sync marks.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), 6.4.6 to 6.4.8.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Optional, Tuple

from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.packets import read_continued

# Atom elements, oldest first; True is E (taken).
Atoms = Tuple[bool, ...]

# The A field of Mispredict and Cancel format 2.
_ATOMS: Final[Tuple[Atoms, ...]] = ((), (True,), (True, True), (False,))


class Cancel(NamedTuple):
    """The elements of a Cancel packet, in this order."""

    # P0 elements before the cancelling.
    atoms: Atoms
    # How many of the youngest P0 elements are cancelled, those of ``atoms`` among them; 0 is reserved.
    elements: int
    # Whether the youngest atom that is left is wrong; a Conditional Flush follows then.
    mispredict: bool


class SyncMark(NamedTuple):
    """The elements of a Data Sync Mark packet."""

    # P0 elements before the marker.
    atoms: Atoms
    # 0 to 7; None for an unnumbered marker.
    number: Optional[int]


def read_commit(data: bytes, at: int) -> int:
    """Read the count of a Commit packet; 0 is reserved (6.4.8)."""
    return read_continued(data, at + 1)[0]


def read_cancel(data: bytes, at: int) -> Cancel:
    """Read a Cancel packet of any format (6.4.8).

    Format 1 implies a Conditional Flush only together with its Mispredict: the pseudocode puts both under M, and
    formats 2 and 3 and Mispredict, which never lack the one, never lack the other.
    """
    header = data[at]
    if header <= 0x2F:
        return Cancel((), read_continued(data, at + 1)[0], bool(header & 1))
    if header <= 0x37:
        return Cancel(_ATOMS[header & 3], 1, True)
    return Cancel(_ATOMS[header & 1], (header >> 1 & 3) + 2, True)


def read_mispredict(data: bytes, at: int) -> Atoms:
    """Read the atoms of a Mispredict packet (6.4.8).

    The last of them, or else the one before the packet, is wrong.
    """
    return _ATOMS[data[at] & 3]


def read_sync_mark(data: bytes, at: int) -> SyncMark:
    """Read a Data Sync Mark packet, numbered or unnumbered (6.4.7)."""
    header = data[at]
    return SyncMark((True,) * (header & 7), None) if header & 8 else SyncMark((), header & 7)


def read_cycle_commit(data: bytes, at: int, config: Etmv4Config) -> int:
    """Read how many elements a Cycle Count packet commits (6.4.6).

    Commit mode 1 takes the commits out of formats 1 and 3 only.  Neither the text of format 2, nor TRCIDR0.COMMOPT,
    which names the other two formats alone, makes an exception for format 2; OpenCSD reads it the same way.

    :returns: 0 or more; a negative number is reserved.
    """
    header = data[at]
    if header >= 0x10:
        return 0 if config.commit_mode else (header >> 2 & 3) + 1
    if header >= 0x0E:
        return 0 if config.commit_mode else read_continued(data, at + 1)[0]
    field = data[at + 1] >> 4
    return config.max_speculation + field - 15 if header & 1 else field + 1
