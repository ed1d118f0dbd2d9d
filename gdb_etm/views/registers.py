"""Registers as text: their fields, and the meanings of the values."""

from __future__ import annotations

from typing import Iterator, List, Optional, Tuple

from gdb_etm.registers.page import Field, Register, Version
from gdb_etm.views.text import align

_WORD = 32
# Fields of up to so many bits are shown in decimal.
_DECIMAL = 7
_ACCESS = {"RW": "read and write", "RO": "read only", "WO": "write only"}


def word_fields(register: Register, shift: int, value: int) -> List[Tuple[str, Field, int]]:
    """Take one word of a register apart.

    :param shift: The lowest of the register's bits that the word holds: 0 or 32.
    :param value: The word.
    :returns: Name, field and value, most significant first; of a field that is longer than the word, what the word has.
    """
    result = []
    for name, field in register.fields.items():
        mask = field.mask >> shift & (1 << _WORD) - 1
        if mask:
            first, last = max(field.low, shift), min(field.low + field.width, shift + _WORD) - 1
            whole = last - first + 1 == field.width
            part = name if whole else "%s[%d:%d]" % (name, last - field.low, first - field.low)
            result.append((part, field, (value & mask) >> first - shift))
    return result


def fields_text(register: Register, shift: int, value: int, mask: Optional[int] = None) -> str:
    """Write a word's fields, such as ``RS=1 CCI=1``.

    Those that are not 0 are written, or all that ``mask`` covers.

    A word that is 0 gives nothing, unless it has a single field.
    """
    fields = word_fields(register, shift, value)
    if mask is not None:
        shown = [each for each in fields if each[1].mask >> shift & mask]
    else:
        shown = fields if len(fields) == 1 else [each for each in fields if each[2]]
    return " ".join("%s=%s" % (name, number_text(field, number)) for name, field, number in shown)


def number_text(field: Field, value: int) -> str:
    """Write a field's value: small fields in decimal."""
    return str(value) if field.width <= _DECIMAL or value < 2 else "0x%x" % value


def value_text(register: Register, value: int) -> str:
    """Write a register's whole value in its width."""
    return "0x%0*x" % (register.width // 4, value)


def access_text(register: Register, where: str) -> str:
    """Describe a register's place and access.

    Such as ``"0x080 of ETMv4.2 at ..., read and write"``.
    """
    words = "0x%03x of %s, %s" % (register.offset, where, _ACCESS[register.access])
    if register.remarks.since is not None:
        words += ", since v%d.%d" % register.remarks.since
    if register.remarks.reading and register.access != "WO":
        words += "; reading it %s" % register.remarks.reading
    return words


def field_lines(register: Register, value: Optional[int], version: Version) -> Iterator[str]:
    """Describe a register's fields, a line each.

    :param value: What the register holds; None where it cannot be read.
    :param version: The unit's, to tell which fields are newer.
    """
    rows = []
    for name, field in register.fields.items():
        high = field.low + field.width - 1
        bits = "%d:%d" % (high, field.low) if field.width > 1 else str(high)
        number = "" if value is None else number_text(field, register.get(value, name))
        words = [field.words(register.get(value, name)) if value is not None else "", field.meaning.note]
        since = field.meaning.since
        if since is not None and since[0] == version[0]:
            words.append("since v%d.%d" % since + ("" if since <= version else ", not in this unit"))
        rows.append(["  " + name, bits, number, "; ".join(word for word in words if word)])
    yield from align(rows)
