"""Recovery: random instructions, whose results Unicorn computes too."""

from __future__ import annotations

import gc
import importlib.util
from typing import Dict

from fuzzing.check import Check
from hypothesis import strategies as st


def checks() -> Dict[str, Check]:
    """List what can be checked, by name: nothing without Unicorn."""
    if importlib.util.find_spec("unicorn") is None:
        return {}
    from tests.recovery import encodings

    def lifting(group: str, seed: int) -> None:
        # A core of Unicorn holds 1 GiB of address space until it is collected.
        gc.collect()
        encodings.check(group, seed)

    groups, seeds = st.sampled_from(sorted(encodings.GROUPS)), st.integers(0, (1 << 32) - 1)
    return {"lifting": Check("differential", {"group": groups, "seed": seeds}, lifting, memory=32 << 30)}
