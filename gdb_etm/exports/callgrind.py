"""Profile as Callgrind writes it.

Ref: Valgrind's manual, "Callgrind Format Specification" 1.0.  The cost of a function's own lines is counted from its
instructions; that of its calls is of whole calls.
"""

from __future__ import annotations

from collections import Counter
from typing import Callable
from typing import Counter as CounterOf
from typing import Dict, Iterator, List, Optional, Tuple

from gdb_etm.analysis.counts import ExecutionCounts
from gdb_etm.analysis.profile import UNKNOWN, CallProfile, CallSite, SiteCost
from gdb_etm.exports.sources import SourceOf
from gdb_etm.history.frames import Function

_NO_SOURCE = "???", 0


def callgrind_lines(
    profile: CallProfile,
    counts: ExecutionCounts,
    function_at: Callable[[int], Optional[Function]],
    source_of: SourceOf,
) -> Iterator[str]:
    """Write functions, the cost of their lines, and their calls.

    :param profile: Its unit is instructions.
    :param counts: Of the same executions.
    :param function_at: Finds the function that holds an address.
    :param source_of: Finds source lines.
    """
    own: Dict[Function, CounterOf[Tuple[str, int]]] = {}
    for address, times in counts.executed.items():
        function = function_at(address) or UNKNOWN
        own.setdefault(function, Counter())[source_of(address) or _NO_SOURCE] += times
    sites: Dict[Function, List[Tuple[CallSite, SiteCost]]] = {}
    for site, cost in profile.sites.items():
        sites.setdefault(site.caller, []).append((site, cost))
        own.setdefault(site.caller, Counter())
    yield "# callgrind format"
    yield "version: 1"
    yield "creator: gdb_etm"
    yield "positions: line"
    yield "events: Instructions"
    yield "summary: %d" % sum(counts.executed.values())
    for function in sorted(own, key=lambda one: (one.start, one.name)):
        file, line = source_of(function.start) or _NO_SOURCE
        yield ""
        yield "fl=" + file
        yield "fn=" + function.name
        yield from _own_lines(own[function], file)
        for site, cost in sites.get(function, ()):
            callee_file, callee_line = source_of(site.callee.start) or _NO_SOURCE
            # An address within the call instruction.
            called = source_of(site.return_address - 2) if site.return_address else None
            yield "cfi=" + callee_file
            yield "cfn=" + site.callee.name
            yield "calls=%d %d" % (cost.calls, callee_line)
            yield "%d %d" % (called[1] if called is not None and called[0] == file else line, cost.inclusive)


def _own_lines(lines: CounterOf[Tuple[str, int]], file: str) -> Iterator[str]:
    # Lines of other files are those of inlined functions.
    at = file
    for (path, line), cost in sorted(lines.items(), key=lambda one: (one[0][0] != file, one[0])):
        if path != at:
            yield "fi=" + path
            at = path
        yield "%d %d" % (line, cost)
    if at != file:
        yield "fe=" + file
