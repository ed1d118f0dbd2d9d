"""Sessions of real GDB, with failing probes and signals.

The probe fails at any access of any board; signals come in every phase.
"""

from __future__ import annotations

import shutil
from typing import Dict

from fuzzing.check import Check
from hypothesis import strategies as st

from tests.gdbui.attacks import FAULTS, PHASES, SIGNALS, check_probe_fault, check_signal

BOARDS = ("m33", "m7", "m4", "a9")
# What a session does before it ends: transfers, and words drained; it is connected after a few hundred.
CONNECTED, MOST = 700, 6000


def checks() -> Dict[str, Check]:
    """List what can be checked, by name."""
    found: Dict[str, Check] = {}
    if shutil.which("gdb-multiarch") is None:
        return found
    after = st.integers(1, CONNECTED) | st.integers(1, MOST)
    fault = {"fault": st.sampled_from(FAULTS), "after": after, "in_drain": st.booleans()}
    for board in BOARDS:
        name = "probe faults, %s" % board
        found[name] = Check("robust", {"board": st.just(board), **fault}, check_probe_fault, seconds=150)
    signals = {"phase": st.sampled_from(PHASES), "beside": st.booleans(), "delay": st.floats(0, 0.5)}
    for signal in SIGNALS:
        found["%s in every phase" % signal] = Check(
            "robust", {"name": st.just(signal), **signals}, check_signal, seconds=150
        )
    return found
