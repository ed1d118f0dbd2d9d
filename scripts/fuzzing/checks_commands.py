"""Random command lines in real GDB, on a saved capture."""

from __future__ import annotations

import importlib.util
import shutil
from typing import Dict

from fuzzing.check import Check
from hypothesis import strategies as st

from tests.gdbui.command_lines import check_command_lines

# A simulated board reserves address space, and GDB inherits these bounds.
_MEMORY = 32 << 30


def checks() -> Dict[str, Check]:
    """List what can be checked, by name."""
    if shutil.which("gdb-multiarch") is None or importlib.util.find_spec("unicorn") is None:
        return {}
    seeds = {"seed": st.integers(0, (1 << 32) - 1)}
    return {"command lines": Check("robust", seeds, check_command_lines, memory=_MEMORY)}
