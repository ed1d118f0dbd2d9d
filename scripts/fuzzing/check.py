"""What scripts/fuzz can check: one property of random arguments each."""

from __future__ import annotations

import importlib
import pathlib
from typing import Callable, Dict, Mapping, NamedTuple

from hypothesis.strategies import SearchStrategy


class Check(NamedTuple):
    """A property of random arguments, with bounds on each case."""

    # ``differential``: compared with another program or with the truth; ``robust``: any input at all.
    kind: str
    # Hypothesis strategies by name; what they give can be written as JSON.
    arguments: Mapping[str, SearchStrategy]
    # Takes the arguments; fails when something is wrong.
    run: Callable[..., object]
    # Bytes of address space that the process may have in all.
    memory: int = 2 << 30
    # Seconds of processor time that one case may take.
    processor: int = 20
    # Seconds that one case may take, waiting included.
    seconds: int = 120


def checks() -> Dict[str, Check]:
    """Gather what every ``checks_*.py`` of this folder offers, by name.

    Each such module has a function ``checks()`` that returns a dictionary from names to checks.
    """
    found: Dict[str, Check] = {}
    for path in sorted(pathlib.Path(__file__).parent.glob("checks_*.py")):
        offered = importlib.import_module("fuzzing." + path.stem).checks()
        twice = sorted(found.keys() & offered.keys())
        assert not twice, "%s offers what another module has: %s" % (path.name, ", ".join(twice))
        found.update(offered)
    return found
