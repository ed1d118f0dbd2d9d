"""The marker ``gdb``, set on every test that may start GDB.

The test's code is searched for a way to the start of a GDB.
"""

from __future__ import annotations

import functools
import inspect
from types import CodeType, FunctionType, ModuleType
from typing import Any, Iterator, List

import pytest

from tests.gdb_session import gdb_program


def mark(item: pytest.Item) -> None:
    """Mark a test that starts GDB, itself or by a helper.

    Only such a test may be marked ``every_gdb``.
    """
    if isinstance(item, pytest.Function) and any(starts_gdb(begin) for begin in _begins(item)):
        item.add_marker("gdb")
    elif item.get_closest_marker("every_gdb") is not None:
        raise pytest.UsageError("%s is marked every_gdb and starts none" % item.nodeid)


@functools.lru_cache(maxsize=None)
def starts_gdb(begin: Any) -> bool:
    """Check whether test code leads to :func:`tests.gdb_session.gdb_program`.

    Followed are the names that the code uses.
    """
    seen, waiting = set(), [begin]
    while waiting:
        one = waiting.pop()
        if one is gdb_program:
            return True
        if id(one) not in seen:
            seen.add(id(one))
            waiting += _used(one)
    return False


def _begins(item: pytest.Function) -> List[Any]:
    fixtures = [one.func for each in item._fixtureinfo.name2fixturedefs.values() for one in each]
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    return [item.function, *fixtures, *(each for each in parameters if isinstance(each, (FunctionType, type)))]


def _used(one: Any) -> List[Any]:
    # What functions, classes and modules of the tests a function or class uses.
    one = inspect.unwrap(one)
    if not str(getattr(one, "__module__", "")).startswith("tests."):
        return []
    if isinstance(one, type):
        return [getattr(each, "__func__", each) for each in vars(one).values() if callable(each)]
    if not isinstance(one, FunctionType):
        return []
    cells = [cell.cell_contents for cell in one.__closure__ or ()]
    names = list(_names(one.__code__))
    found = [one.__globals__[name] for name in names if name in one.__globals__] + cells
    inside = [getattr(each, name, None) for each in found if isinstance(each, ModuleType) for name in names]
    return [each for each in found + inside if isinstance(each, type) or callable(each)]


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
