"""Ranges as GDB's ``record instruction-history`` takes them, over anything numbered from 1."""

from __future__ import annotations

import re
from typing import NamedTuple, Optional

from gdb_etm.errors import CommandError

_NUMBER = re.compile(r"(-?)(0[xX][0-9a-fA-F]+|[0-9]+)\Z")
_ENDLESS = 1 << 64
_END = re.compile(r"([+-]?)(0[xX][0-9a-fA-F]+|[0-9]+)\Z")


class NumberRange(NamedTuple):
    """Numbers ``first`` to ``last``, both included."""

    first: int
    last: int


def check(text: str, what: str) -> None:
    """Check the form of a range for an empty history.

    :param what: Plural noun for messages, such as ``"instructions"``.
    :raises CommandError: It is malformed.
    """
    window(text, _ENDLESS, None, None, what)


def window(
    text: str,
    length: int,
    size: Optional[int],
    before: Optional[NumberRange],
    what: str,
    cursor: Optional[int] = None,
) -> NumberRange:
    """Find which numbers a range means.

    :param text: ``""`` for those around the cursor, ``"+"`` for the next ones, ``"-"`` for those before, ``N``,
        ``N,M``, ``N,+M``, ``N,-M``; a negative N alone means the last N, before a comma it counts from the end.
    :param length: How many there are; they are numbered from 1.
    :param size: How many to show where the range does not say; None for all.
    :param before: What was shown before; None at the first time, when ``"+"`` and ``"-"`` are as ``""``.
    :param what: Plural noun for messages, such as ``"instructions"``.
    :param cursor: The number at the cursor; None: the newest are shown at first, and ``""`` is as ``"+"``.
    :raises CommandError: The range is malformed or outside.
    """
    if not length:
        raise CommandError("the history holds no %s" % what)
    limit = length if size is None else size
    text = re.sub(r"\s*,\s*", ",", text.strip())
    if text in ("", "+", "-"):
        if before is not None and (text or cursor is None):
            return _onwards(text, length, limit, before, what)
        return _around(length if cursor is None else cursor, length, limit)
    start, comma, end = text.partition(",")
    found = _NUMBER.match(start)
    if not found or (comma and not _END.match(end)):
        raise CommandError('"%s" is no range; try N, N,M, N,+M, N,-M, -N, + or -' % text)
    number = int(found.group(2), 0)
    if found.group(1):
        if not comma:
            return NumberRange(max(1, length - number + 1), length) if number else _outside(0, length, what)
        number = length - number + 1
    if not 1 <= number <= length:
        return _outside(number, length, what)
    if not comma:
        return NumberRange(number, min(length, number + limit - 1))
    return _to(number, end, length, what)


def _around(number: int, length: int, size: int) -> NumberRange:
    # With one in the middle; near an end there are as many, too.
    first = max(1, min(number - size // 2, length - size + 1))
    return NumberRange(first, min(length, first + size - 1))


def _onwards(text: str, length: int, limit: int, before: NumberRange, what: str) -> NumberRange:
    if text == "-":
        if before.first <= 1:
            raise CommandError("at the start of the history: there are no %s before the first" % what)
        return NumberRange(max(1, before.first - limit), before.first - 1)
    if before.last >= length:
        raise CommandError('at the end of the history; "-" goes back, -%d shows the last %s' % (min(limit, 10), what))
    return NumberRange(before.last + 1, min(length, before.last + limit))


def _to(number: int, end: str, length: int, what: str) -> NumberRange:
    found = _END.match(end)
    assert found is not None
    other = int(found.group(2), 0)
    if found.group(1) and not other:
        raise CommandError("%s is empty" % end)
    if found.group(1) == "+":
        return NumberRange(number, min(length, number + other - 1))
    if found.group(1) == "-":
        return NumberRange(max(1, number - other + 1), number)
    if other < number:
        raise CommandError("the range %d,%d ends before it begins" % (number, other))
    return NumberRange(number, min(length, other))


def _outside(number: int, length: int, what: str) -> NumberRange:
    raise CommandError("there is no %d: the %s are numbered 1 to %d" % (number, what, length))
