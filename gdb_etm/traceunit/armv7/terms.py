"""Event fields of an ETMv3 or PTM: function of two resources.

IHI 0014Q, 3.5, "Defining events" and "Resource identification"; IHI 0035B, 3.6.
"""

from __future__ import annotations

from typing import Callable, Dict, List

from gdb_etm.errors import UnsupportedError
from gdb_etm.registers import etmv3
from gdb_etm.traceunit.events import And, Constant, Event, Not, Or

# Returns the resource number of an event without operands.
Number = Callable[[Event], int]

_FUNCTIONS: Dict[int, Callable[[bool, bool], bool]] = {
    etmv3.FUNCTION_A_AND_B: lambda a, b: a and b,
    etmv3.FUNCTION_NOT_A_AND_B: lambda a, b: not a and b,
    etmv3.FUNCTION_NEITHER: lambda a, b: not a and not b,
    etmv3.FUNCTION_A_OR_B: lambda a, b: a or b,
    etmv3.FUNCTION_NOT_A_OR_B: lambda a, b: not a or b,
    etmv3.FUNCTION_NOT_BOTH: lambda a, b: not a or not b,
}
_MOST = 2


def event_value(event: Event, number: Number, register: str) -> int:
    """Encode an event.

    :param register: The register that it is for, for the message.
    :raises UnsupportedError: It joins more resources than there is room for.
    """
    resources: List[int] = []
    _gather(event, number, resources)
    if len(resources) > _MOST:
        raise UnsupportedError(
            '"%s" joins %d resources; an event of this unit has 2 (%s.A)' % (event, len(resources), register),
            register + ".A",
        )
    first, second = (resources + [etmv3.RESOURCE_TRUE] * 2)[:2]

    def holds(a: bool, b: bool) -> bool:
        return _holds(event, number, {first: a, second: b})

    table = [holds(a, b) for a in (False, True) for b in (False, True)]
    if all(table) or not any(table):
        return etmv3.EVENT_TRUE if all(table) else etmv3.EVENT_FALSE
    for a, single in ((first, [False, False, True, True]), (second, [False, True, False, True])):
        if table in (single, [not each for each in single]):
            function = etmv3.FUNCTION_A if table == single else etmv3.FUNCTION_NOT_A
            return etmv3.ETMTEEVR.encode(A=a, Function=function)
    for function, combine in _FUNCTIONS.items():
        if table == [combine(one, other) for one in (False, True) for other in (False, True)]:
            return etmv3.ETMTEEVR.encode(A=first, B=second, Function=function)
        # What is negated must be the first.
        if table == [combine(other, one) for one in (False, True) for other in (False, True)]:
            return etmv3.ETMTEEVR.encode(A=second, B=first, Function=function)
    raise UnsupportedError(
        '"%s": an event of this unit has no such function of two resources (%s.Function)' % (event, register),
        register + ".Function",
    )


def _gather(event: Event, number: Number, found: List[int]) -> None:
    if isinstance(event, (And, Or)):
        _gather(event.first, number, found)
        _gather(event.second, number, found)
    elif isinstance(event, Not):
        _gather(event.of, number, found)
    elif not isinstance(event, Constant):
        resource = number(event)
        if resource not in found:
            found.append(resource)


def _holds(event: Event, number: Number, active: Dict[int, bool]) -> bool:
    if isinstance(event, And):
        return _holds(event.first, number, active) and _holds(event.second, number, active)
    if isinstance(event, Or):
        return _holds(event.first, number, active) or _holds(event.second, number, active)
    if isinstance(event, Not):
        return not _holds(event.of, number, active)
    return event.value if isinstance(event, Constant) else active[number(event)]
