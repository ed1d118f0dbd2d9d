"""Files that somebody else made: snapshots, ELF files with DWARF, board profiles."""

from __future__ import annotations

from functools import partial
from typing import Dict

from fuzzing.check import Check
from hypothesis import strategies as st

from tests import damage


def checks() -> Dict[str, Check]:
    """List what can be checked, by name."""
    seeds = {"seed": st.integers(0, (1 << 32) - 1)}
    return {kind: Check("robust", seeds, partial(damage.check, kind), damage.MEMORY) for kind in damage.CHECKS}
