"""Profile as lines: functions, and the callers and callees of one."""

from __future__ import annotations

from typing import Dict, Iterator, List, Optional

from gdb_etm.analysis.profile import CallProfile, FunctionProfile
from gdb_etm.history.frames import Function
from gdb_etm.views.text import align_right, plural

_HEAD = ["function", "calls", "own", "", "with callees", "", "min", "median", "max"]


def profile_lines(profile: CallProfile, limit: Optional[int]) -> Iterator[str]:
    """List the functions, the most expensive first.

    :param limit: How many; None for all.
    """
    found = profile.functions()
    shown = found if limit is None else found[:limit]
    total = profile.total
    yield from align_right([_HEAD] + [_row(one, total) for one in shown])
    if len(shown) < len(found):
        yield "[%s]" % plural(len(found) - len(shown), "more function")


def root_lines(profile: CallProfile) -> Iterator[str]:
    """List the threads and the exceptions."""
    total = profile.total
    roots = sorted(profile.root.children.values(), key=lambda one: -one.inclusive())
    rows = [["root", profile.unit, ""]]
    rows += [[one.name, "{:,}".format(one.inclusive()), _percent(one.inclusive(), total)] for one in roots]
    yield from align_right(rows)


def function_lines(profile: CallProfile, function: Function) -> Iterator[str]:
    """List one function's callers, and its callees."""
    found = [one for one in profile.functions() if one.function == function]
    yield from align_right([_HEAD] + [_row(one, profile.total) for one in found])
    for title, rows in (("called by", _sites(profile, None, function)), ("calls", _sites(profile, function, None))):
        if rows:
            yield ""
            yield from align_right([[title, "calls", profile.unit + " in them"]] + rows)


def _sites(profile: CallProfile, caller: Optional[Function], callee: Optional[Function]) -> List[List[str]]:
    calls: Dict[Function, List[int]] = {}
    for site, cost in profile.sites.items():
        if caller in (None, site.caller) and callee in (None, site.callee):
            other = site.caller if caller is None else site.callee
            known = calls.setdefault(other, [0, 0])
            known[0] += cost.calls
            known[1] += cost.inclusive
    ordered = sorted(calls.items(), key=lambda one: -one[1][1])
    return [[function.name, "{:,}".format(count), "{:,}".format(cost)] for function, (count, cost) in ordered]


def _row(one: FunctionProfile, total: int) -> List[str]:
    costs = one.costs
    spread = [min(costs), one.median or 0, max(costs)] if costs else None
    return [
        one.function.name,
        "{:,}".format(one.calls),
        "{:,}".format(one.own),
        _percent(one.own, total),
        "{:,}".format(one.inclusive),
        _percent(one.inclusive, total),
        *(["{:,}".format(cost) for cost in spread] if spread is not None else ["", "", ""]),
    ]


def _percent(part: int, whole: int) -> str:
    return "%.1f %%" % (100 * part / whole) if whole else ""
