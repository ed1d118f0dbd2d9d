"""The marker ``sweep``, for a test of many like cases.

They are programs, boards, crashes and the like.

With ``--part 2/3`` every third case of each such test runs, from the second on, and at least one.
"""

from __future__ import annotations

import re
from typing import Dict, List, Tuple

import pytest

OPTION = "--part"


def part(text: str) -> Tuple[int, int]:
    """Read which part runs: ``"2/3"`` is the second of three.

    :raises pytest.UsageError: There is no such part.
    """
    numbers = re.fullmatch(r"([1-9][0-9]{0,2})/([1-9][0-9]{0,2})", text)
    if numbers is None or int(numbers[1]) > int(numbers[2]):
        raise pytest.UsageError('%s: "%s" is no part such as 2/3' % (OPTION, text))
    return int(numbers[1]), int(numbers[2])


def choose(items: List[pytest.Item], text: str) -> List[pytest.Item]:
    """Take other parts' cases out of the list, and return them.

    :param text: Which part runs.
    """
    number, parts = part(text)
    sweeps: Dict[str, List[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("sweep") is not None:
            sweeps.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left = [
        item
        for cases in sweeps.values()
        for at, item in enumerate(cases)
        if at % min(parts, len(cases)) != (number - 1) % min(parts, len(cases))
    ]
    gone = set(map(id, left))
    items[:] = [item for item in items if id(item) not in gone]
    return left
