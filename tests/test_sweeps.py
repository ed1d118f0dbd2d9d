"""Which cases of sweeps run.

Evidence: cases worked by hand.
"""

from __future__ import annotations

from typing import Any, List, Optional

import pytest

from tests import sweeps


class Case:
    """What is asked of a test here."""

    def __init__(self, nodeid: str, marker: Optional[str] = "sweep") -> None:
        self.nodeid = nodeid
        self._marker = marker

    def get_closest_marker(self, name: str) -> Optional[str]:
        """Give the marker, if it has that one."""
        return self._marker if self._marker == name else None


def run(text: str, items: List[Any], core: str = "1/1") -> List[str]:
    """Name the tests that a part runs."""
    items = list(items)
    sweeps.choose(items, text, core)
    return [item.nodeid for item in items]


def test_each_case_runs_in_one_part() -> None:
    cases = [Case("a.py::t[%d]" % number) for number in range(8)] + [Case("b.py::t[x]"), Case("b.py::u", None)]
    parts = [run("%d/3" % number, cases) for number in (1, 2, 3)]
    assert parts[1] == ["a.py::t[1]", "a.py::t[4]", "a.py::t[7]", "b.py::t[x]", "b.py::u"]
    assert sorted(sum(parts, [])) == sorted([one.nodeid for one in cases] + 2 * ["b.py::t[x]", "b.py::u"])
    assert run("1/1", cases) == [one.nodeid for one in cases]


def test_each_test_for_every_gdb_runs_in_one_part() -> None:
    core = [Case("a.py::t[%d]" % number, "every_gdb") for number in range(3)] + [Case("b.py::t", "every_gdb")]
    others = [Case("a.py::s[%d]" % number) for number in range(2)] + [Case("b.py::u", None)]
    parts = [run("1/1", [*core, *others], "%d/3" % number) for number in (1, 2, 3)]
    kept = [one.nodeid for one in others]
    assert parts == [["a.py::t[0]", "b.py::t", *kept], ["a.py::t[1]", *kept], ["a.py::t[2]", *kept]]
    assert run("2/3", [*core, *others]) == [*(one.nodeid for one in core), "a.py::s[1]", "b.py::u"]


@pytest.mark.parametrize("text", ["4/3", "0/3", "1", "", "1/0", "1/3 ", "a/b"])
def test_what_is_no_part(text: str) -> None:
    with pytest.raises(pytest.UsageError, match="no part such as 2/3"):
        sweeps.part(text)
