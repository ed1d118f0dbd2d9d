"""Writers of the fields that ETMv3 and PTM packets share.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv1.0 to ETMv3.5 (IHI 0014Q), 7.3.5 and 7.7.4; CoreSight
Program Flow Trace Architecture Specification PFTv1.0 and PFTv1.1 (IHI 0035B), 4.5.
"""

from __future__ import annotations

from typing import Optional

from gdb_etm.protocols.armv7.fields import SHIFT, Information, IsaState, Reference

_MOST = 5
_FIRST_BITS = 6
_FULL_BITS = 7
_LAST_BITS = 6
_MARKS = {IsaState.ARM: 0x08, IsaState.THUMB: 0x10, IsaState.THUMBEE: 0x10, IsaState.JAZELLE: 0x20}
_MORE = 0x80
_INFORMED = 0x40


def branch_address(new: Reference, old: Reference, original: bool = False, informed: bool = False) -> bytes:
    """Write a branch's address bytes, as few as the change needs (7.3.5).

    :param new: Where execution goes on.
    :param old: The last address output.
    :param original: Whether in ETMv3's original encoding, which PTM does not have.
    :param informed: Whether exception information follows.
    """
    shift = SHIFT[new.state]
    value = new.address >> shift
    changed = (new.address ^ old.address) >> shift
    if _MARKS[new.state] != _MARKS[old.state] or original and informed:
        count = _MOST
    else:
        count = 2 if informed else 1
        while count < _MOST and changed >> _bits(count, original):
            count += 1
    data = bytearray((value << 1 & 0x7E | 1,))
    value >>= _FIRST_BITS
    for _ in range(1, min(count, _MOST - 1)):
        data.append(value & 0x7F)
        value >>= _FULL_BITS
    if count == _MOST:
        data.append(_MARKS[new.state] | value & (1 << _MOST - shift) - 1)
    elif count > 1 and not original:
        data[-1] &= (1 << _LAST_BITS) - 1
    if informed:
        data[-1] |= _INFORMED
    return _chained(data)


def _bits(count: int, original: bool) -> int:
    # How many bits of an address fit into fewer than five bytes: the last one has one bit less unless it is original.
    if count == 1:
        return _FIRST_BITS
    return _FIRST_BITS + _FULL_BITS * (count - 2) + (_FULL_BITS if original else _LAST_BITS)


def information_bytes(information: Information) -> bytes:
    """Write the exception information bytes that follow a branch address (7.3.5)."""
    second = information.number >> 4 != 0 or information.hyp is not None
    first = (
        information.alternative << 6
        | information.cancel << 5
        | (information.number & 0xF) << 1
        | bool(information.non_secure)
    )
    data = bytearray((first,))
    if second:
        data.append(bool(information.hyp) << 5 | information.number >> 4)
    if information.resume is not None:
        data.append(0x40 | information.resume)
    return _chained(data)


def timestamp(value: int, old: Optional[int], most: int) -> bytes:
    """Write a timestamp, as few bytes as the change needs (7.7.4).

    :param value: In the unit's own encoding.
    :param old: The one before; None writes all of it.
    :param most: How long it can be in bytes: 7 for 48 bits, 9 for 64.
    """
    data = bytearray()
    changed = -1 if old is None else value ^ old
    for index in range(most - 1):
        data.append(value >> _FULL_BITS * index & 0x7F)
        if not changed >> _FULL_BITS * (index + 1):
            return _chained(data)
    data.append(value >> _FULL_BITS * (most - 1) & (0x3F if most == 7 else 0xFF))
    return _chained(data)


def _chained(data: bytearray) -> bytes:
    # Bit 7 of every byte but the last says that another one follows.
    return bytes([byte | _MORE for byte in data[:-1]]) + bytes(data[-1:])
