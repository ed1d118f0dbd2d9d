"""Plain instructions: certainly no branches, stepped over in search of one.

One table look-up tells them, by one byte or two; what is not plain has to be decoded (``isa.py``).
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final, List, Tuple

from gdb_etm.program.isa import Isa, to_packed

if TYPE_CHECKING:
    from mypy_extensions import i64

# Whether the host is.
_IS_BIG_ENDIAN: Final = array("H", [1]).tobytes() == b"\x00\x01"
# A name of its own is faster to reach than an enumeration's member.
_A32: Final = Isa.A32
_T32: Final = Isa.T32
_A64: Final = Isa.A64

# Stands for the size of an instruction that is plain when bit 15 of its second halfword is 0.
_BY_SECOND: Final = 1


def _sizes_t32() -> bytes:
    # By the high byte of the first halfword: the size of an instruction that is certainly plain, else 0.
    branches = {0x44, 0x46, 0x47, 0xB1, 0xB3, 0xB9, 0xBB, 0xBD, 0xBF, *range(0xD0, 0xDE), *range(0xE0, 0xE8)}
    branches.update({0xE8, 0xE9, 0xEE, 0xFB})
    by_second = range(0xF0, 0xF9)
    plain = [_BY_SECOND if high in by_second else 4 if high >= 0xE8 else 2 for high in range(256)]
    return bytes([0 if high in branches else size for high, size in enumerate(plain)])


def _sizes_a64() -> bytes:
    branches = {0x54, 0xD5, 0xD6, 0xD7}
    branches.update(byte for byte in range(256) if byte & 0x7C == 0x14 or byte & 0x7C == 0x34)
    return bytes(0 if byte in branches else 4 for byte in range(256))


def _sizes_a32() -> bytes:
    # By the top byte alone just the coprocessor group is told from branches.
    return bytes(4 if byte & 0x0F in (0xC, 0xD) else 0 for byte in range(256))


def _limits_a32() -> List[int]:
    # By the top byte: an instruction is certainly plain when bits 15:8 are less than this, and not 0, as they are in
    # ERET.  What writes PC has 15 in bits 15:12; a load of several registers has bit 15.
    groups = [0xF0] * 8 + [0x80] * 2 + [0] * 2 + [0x100] * 2 + [0] + [0x100]
    return [0 if byte >= 0xF0 else groups[byte & 0xF] for byte in range(256)]


_LIMITS_A32: Final = _limits_a32()
_PLAIN_T32: Final = _sizes_t32()
_PLAIN_A64: Final = _sizes_a64()
_PLAIN_A32: Final = _sizes_a32()
_NOT_PLAIN_A64: Final = bytes(not size for size in _PLAIN_A64)
_NOT_PLAIN_A32: Final = bytes(not size for size in _PLAIN_A32)


def skip_plain(data: bytes, index: int, isa: Isa) -> Tuple[int, int]:
    """Step over instructions certainly of kind OTHER, one table look-up each.

    :param data: Program bytes.
    :param index: Index of an instruction in ``data``.
    :returns: Index of the first instruction that has to be decoded, and how many were stepped over.
    """
    count = 0
    if isa is _A32:
        return _skip_plain_a32(data, index, len(data))
    if isa is _T32:
        sizes, key, last = _PLAIN_T32, index + 1, len(data) - 3
    else:
        sizes, key, last = _PLAIN_A64, index + 3, len(data)
    start = key
    while key < last:
        size = sizes[data[key]]
        if size == _BY_SECOND:
            size = 0 if data[key + 2] & 0x80 else 4
        if not size:
            break
        key += size
        count += 1
    return index + key - start, count


def _skip_plain_a32(data: bytes, index: int, last: int) -> Tuple[int, int]:
    key = index + 3
    while key < last and 0 < data[key - 2] < _LIMITS_A32[data[key]]:
        key += 4
    return key - 3, key - 3 - index >> 2


def list_plain(data: bytes, index: int, isa: Isa, addresses: List[int], most: int) -> int:
    """List the addresses after A32 or T32 instructions that :func:`skip_plain` steps over.

    :param addresses: Ends with the address of the instruction at ``index``; takes the others.
    :param most: How many addresses there may be before the last one.
    :returns: The last address.
    """
    address = addresses[-1]
    if isa is not _T32:
        _, count = _skip_plain_a32(data, index, min(len(data), index + 4 * (most + 1 - len(addresses))))
        addresses.extend(range(address + 4, address + 4 * count + 1, 4))
        return address + 4 * count
    sizes, key, last = _PLAIN_T32, index + 1, len(data) - 3
    while key < last and len(addresses) <= most:
        size = sizes[data[key]]
        if size == _BY_SECOND:
            size = 0 if data[key + 2] & 0x80 else 4
        if not size:
            break
        key += size
        address += size
        addresses.append(address)
    return address


# Bytes of code that are marked at once: new memory for all of it takes longer than the marking.
_AT_ONCE: Final = 1 << 16
# The mark of a word that is not plain.
NOT_PLAIN: Final = "\1"


def not_plain(data: bytes, isa: Isa) -> bytes:
    """Mark each A32 or A64 word: 0 when plain, else 1.

    Plain is what :func:`skip_plain` steps over.
    """
    return data[3::4].translate(_NOT_PLAIN_A64 if isa is _A64 else _NOT_PLAIN_A32)


class CodeWords:
    """A piece of A32 or A64 code, searched for ends of blocks.

    :param start: Its address.
    :param isa: Its instruction set.
    :param data: Its bytes.
    """

    __slots__ = ("start", "end", "isa", "first", "size", "words", "marks")

    def __init__(self, start: int, isa: Isa, data: bytes) -> None:
        self.start = start
        self.end = start + len(data)
        self.isa = isa
        # The start as a packed address, and the size in bytes.
        self.first: i64 = to_packed(start, False)
        self.size: i64 = len(data)
        # Without a copy, where the host is little-endian as the code is.
        self.words = memoryview(data)[: len(data) & ~3].cast("I")
        if _IS_BIG_ENDIAN:
            swapped = array("I", self.words)
            swapped.byteswap()
            self.words = memoryview(swapped)
        # For each word, whether it may end a block; text is searched faster than bytes.
        pieces = [not_plain(data[at : at + _AT_ONCE], isa).decode("ascii") for at in range(0, len(data), _AT_ONCE)]
        self.marks = "".join(pieces)
