"""Damaged trace of all protocols gives nothing impossible.

The trace is of real captures and of random walks.
"""

from __future__ import annotations

from functools import partial
from typing import Dict

from fuzzing.check import Check
from hypothesis import strategies as st

from tests.protocols import damage


def checks() -> Dict[str, Check]:
    """List the checks by name, one for each capture present."""
    arguments = {"seed": st.integers(0, (1 << 32) - 1), "frames": st.booleans()}
    return {"damaged " + name: Check("robust", arguments, partial(_damaged, name)) for name in damage.available()}


def _damaged(capture: str, seed: int, frames: bool) -> None:
    damage.check(damage.Case(capture, seed, frames))
