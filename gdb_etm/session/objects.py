"""Objects in memory, as a user names them."""

from __future__ import annotations

import re
from typing import NamedTuple

from gdb_etm.errors import CommandError
from gdb_etm.recovery.values import Tier
from gdb_etm.session.evaluation import Moment, printed
from gdb_etm.session.numbers import count

_PIECE = re.compile(r"(.+),\s*(0x[0-9a-f]+|[0-9]+)\Z", re.IGNORECASE)
_LITERAL = re.compile(r"\*?(0x[0-9a-f]+|[0-9]+)\Z", re.IGNORECASE)
_HEX = re.compile(r"0x([0-9a-f]+)")
# Bytes of an object, at most.
_LONGEST = 1 << 16
_SPACE = 1 << 32
_WORD = 4


class MemoryObject(NamedTuple):
    """A piece of memory that is asked about."""

    address: int
    # In bytes.
    size: int


def object_at(at: Moment, text: str) -> MemoryObject:
    """Find an object at a moment.

    :param text: ADDRESS (a word), ADDRESS,SIZE, or an expression for something that has an address.
    :raises CommandError: It is in no memory, or its address is not known there.
    """
    found = _object(at, text)
    if not 0 < found.size <= _LONGEST or found.address + found.size > _SPACE:
        raise CommandError("%s: of 1 to %d bytes in 32 bits of address space" % (text, _LONGEST))
    return found


def _object(at: Moment, text: str) -> MemoryObject:
    piece = _PIECE.match(text)
    size = count(piece.group(2)) if piece is not None else None
    start = piece.group(1).strip() if piece is not None else text
    literal = _LITERAL.match(start)
    if literal is not None:
        return MemoryObject(count(literal.group(1)), _WORD if size is None else size)
    if at.session.places is None:
        if at.session.locations is None:
            raise CommandError('without GDB "%s" cannot be evaluated: give ADDRESS[,SIZE]' % start)
        first, last = at.session.locations.data(start)[0]
        return MemoryObject(first, last - first + 1 if size is None else size)
    if size is not None:
        return MemoryObject(_number(at, "(unsigned long) (%s)" % start), size)
    return MemoryObject(_number(at, "(unsigned long) &(%s)" % text), _number(at, "(unsigned long) sizeof(%s)" % text))


def _number(at: Moment, expression: str) -> int:
    lines = printed(at, "output/x %s" % expression)
    found = _HEX.match(lines[0].text) if lines else None
    if found is None:
        raise CommandError("its address is not known at this position: %s" % (lines[0].text if lines else ""))
    if lines[0].tier is not Tier.EXACT:
        tier = lines[0].tier.name.lower()
        raise CommandError("its address is only %s: give ADDRESS,SIZE" % tier)
    return int(found.group(1), 16)
