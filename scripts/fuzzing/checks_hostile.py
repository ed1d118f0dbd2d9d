"""Hostile and damaged clients of the servers.

They speak GDB's remote protocol and the control protocol.
"""

from __future__ import annotations

import importlib.util
from typing import Dict

from fuzzing.check import Check

# A simulated board reserves address space, and the process that serves one inherits these bounds.
_MEMORY = 32 << 30
_PROCESSOR = 7200


def checks() -> Dict[str, Check]:
    """List what can be checked, by name: nothing without Unicorn."""
    if importlib.util.find_spec("unicorn") is None:
        return {}
    from tests.replay import hostile

    one, two = {"pieces": hostile.SPEECH}, {"pieces": hostile.SPEECH, "replies": hostile.SPEECH}
    return {
        "replay server": Check("robust", one, hostile.check_target, memory=_MEMORY),
        "proxy server": Check("robust", two, hostile.check_proxy, memory=_MEMORY),
        "before pyOCD": Check("robust", two, hostile.check_beside, memory=_MEMORY),
        "control port": Check("robust", {"lines": hostile.MESSAGES}, hostile.check_desk, memory=_MEMORY),
        "pyOCD server": Check("robust", one, hostile.check_pyocd, memory=_MEMORY, processor=_PROCESSOR),
    }
