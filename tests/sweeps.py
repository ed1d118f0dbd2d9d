"""The marker ``sweep``, for a test of many like cases.

They are programs, boards, crashes and the like.

With ``--part 2/3`` every third case of each such test runs, from the second on, and at least one.  With ``--core 2/3``
every third test of those marked ``every_gdb`` runs, from the second on.
"""

from __future__ import annotations

import re
from typing import Dict, List, Tuple

import pytest

OPTION = "--part"
CORE = "--core"


def part(text: str, option: str = OPTION) -> Tuple[int, int]:
    """Read which part runs: ``"2/3"`` is the second of three.

    :raises pytest.UsageError: There is no such part.
    """
    numbers = re.fullmatch(r"([1-9][0-9]{0,2})/([1-9][0-9]{0,2})", text)
    if numbers is None or int(numbers[1]) > int(numbers[2]):
        raise pytest.UsageError('%s: "%s" is no part such as 2/3' % (option, text))
    return int(numbers[1]), int(numbers[2])


def choose(items: List[pytest.Item], text: str, core: str = "1/1") -> List[pytest.Item]:
    """Take other parts' cases out of the list, and return them.

    :param text: Which part of each sweep runs.
    :param core: Which part of the tests that are for every GDB.
    """
    sweeps: Dict[str, List[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sweep") is not None:
            sweeps.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left = [item for cases in sweeps.values() for item in _others(cases, *part(text))]
    left += _others([item for item in items if item.get_closest_marker("every_gdb") is not None], *part(core, CORE))
    gone = set(map(id, left))
    items[:] = [item for item in items if id(item) not in gone]
    return left


def _others(cases: List[pytest.Item], number: int, parts: int) -> List[pytest.Item]:
    parts = min(parts, len(cases))
    return [item for at, item in enumerate(cases) if at % parts != (number - 1) % parts]
