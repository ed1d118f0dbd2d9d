"""Two builds compared by their calls alone.

A compiler that optimises differently moves lines about, but calls of what stays a function come in the same order.  Not
compared are: functions that are inlined anywhere in what ran, or that share their code with another one; what the
compiler itself calls; and calls of a function by itself, which may have become a loop.
"""

from __future__ import annotations

import re
from typing import Callable, Collection, NamedTuple, Optional, Set, Tuple

from gdb_etm.analysis.activity import unseen_handlers
from gdb_etm.analysis.compare import Execution, ExecutionBuilder
from gdb_etm.capture import BufferEnd
from gdb_etm.history.calls import CallHistory
from gdb_etm.history.entries import Entered
from gdb_etm.history.frames import Frame
from gdb_etm.protocols.elements import Gap

# What compilers make of a function: a copy for some constants; a part of one that is inlined otherwise.
_COPY = re.compile(r"\.(constprop|isra|lto_priv|localalias)\.?\d*")
_PART = re.compile(r"\.(part|cold)\b")
# What compilers call by themselves, and make of loops and of one another.
_OWN = re.compile(r"__|_*(mem(cpy|set|move|cmp|chr)|st[pr]n?(cpy|cmp|cat|len)|str(r?chr|str)|put(s|char)|printf)\b")
_BEGINS = (Entered.CALL, Entered.TAIL_CALL)

# Gives the token of a function by its name.
Name = Callable[[str], int]


def plain_name(name: str) -> Optional[str]:
    """Give the name that a function has in every build.

    :returns: None of what compilers make or call by themselves.
    """
    if _PART.search(name) or _OWN.match(name):
        return None
    return _COPY.sub("", name)


class CallOrder(NamedTuple):
    """An execution as the order of its calls."""

    # Of a strand a token is a call, and its numbers are those of the first instruction that it ran.
    execution: Execution
    # The calls that there are, by name.
    names: Set[str]


def call_order(
    calls: CallHistory,
    end_reason: BufferEnd,
    token: Name,
    bounds: Tuple[int, int],
    wanted: Optional[Collection[str]] = None,
) -> CallOrder:
    """Take the calls of an execution.

    :param end_reason: Why its oldest instruction is the oldest.
    :param token: Of a function.
    :param bounds: Numbers of the first and the last instruction that count.
    :param wanted: The functions that count, by :func:`plain_name`; None takes all.
    """
    rows = calls.rows()
    built = ExecutionBuilder(unseen_handlers(rows))
    names: Set[str] = set()
    for at, row in enumerate(rows):
        if isinstance(row.event, Gap):
            built.gap()
            continue
        if not bounds[0] <= row.first <= bounds[1]:
            continue
        thread = calls.threads.of(at) or 0
        if row.event is not None:
            built.begin(row, thread)
            continue
        into = built.strand(built.handler(row), thread)
        name = plain_name(row.function.name) if row.function is not None and row.entered in _BEGINS else None
        if into is None or name is None or wanted is not None and name not in wanted or _is_own_caller(row.frame, name):
            continue
        names.add(name)
        into.add(row.first, token(name))
    return CallOrder(built.execution(end_reason, bounds), names)


def _is_own_caller(frame: Frame, name: str) -> bool:
    # Whether a function has called itself, as far as no other one that counts is between.
    up = frame.up
    return up is not None and up.function is not None and plain_name(up.function.name) == name
