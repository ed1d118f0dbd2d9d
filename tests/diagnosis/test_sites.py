"""The board's truth: sites of crashes; nobody innocent is accused.

The program crashes because a debugger has asked it to, so what it does just before is what it was written for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Dict, Optional, Tuple

import pytest

from gdb_etm.diagnosis.diagnose import Diagnosis, diagnose, trapped
from gdb_etm.diagnosis.names import DebugNames
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.history.calls import call_history
from gdb_etm.history.exits import Exits
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.program.cfi import load_frames
from gdb_etm.program.frame_variables import load_frame_variables
from gdb_etm.program.objects import load_objects
from gdb_etm.program.variables import load_variables
from tests.firmware.crashes.build import elf
from tests.recovery.crashes import Crash, Halt, halt_of

# What is bad, and what is said of it.
SITES: Dict[str, Tuple[str, str]] = {
    "call_odd": ("the address that it goes to", "where no code is"),
    "call_null": ("the address that it goes to", "NULL"),
    "call_even": ("the address that it goes to", "even: bit 0 is 0, which asks for A32 code"),
    "call_unmapped": ("the address that it goes to", "where no code is"),
    "read": ("the load's address", "no memory is there"),
    "write": ("the store's address", "not writable"),
    "divide": ("the divisor", "0"),
    "unaligned": ("the load's address", "not a multiple of 4"),
    "frame_even": ("the xPSR in the exception's frame", "bit 24 (T) is 0, which asks for A32 code"),
    "frame_mode": ("the xPSR in the exception's frame", "that of an exception, and it returns to a thread"),
    "frame_unmapped": ("the PC in the exception's frame", "where no code is"),
    "exc_return": ("EXC_RETURN", "no value that the core accepts here"),
}
OTHERS = ("overflow", "undefined", "guarded_write", "unaligned_pair")


def diagnosed(halt: Halt) -> Tuple[Scene, Optional[Diagnosis]]:
    """Diagnose a crash."""
    path = elf("integers")
    debugger = OfflineDebugger([path])
    calls = call_history(halt.history, debugger.function_at, Exits(halt.history.program))
    names = DebugNames(
        load_variables([path]),
        load_frame_variables([path]),
        load_objects([path]).markers,
        lambda address: "",
        debugger.function_at,
    )
    scene = Scene(halt.recovery(), calls, load_frames([path]), names)
    return scene, diagnose(scene, halt.registers)


@pytest.mark.sweep
@pytest.mark.parametrize(
    "way, board",
    [
        *[(way, "m33") for way in (*SITES, *OTHERS)],
        *[(way, board) for way in ("call_null", "read", "overflow") for board in ("m7", "m4")],
    ],
)
def test_the_site_is_right_and_nobody_is_accused(way: str, board: str, tmp_path: Path) -> None:
    halt = halt_of(Crash(board, way), tmp_path)
    scene, found = diagnosed(halt)
    assert found is not None
    if way in SITES:
        what, why = SITES[way]
        bad = found.site.bad[0]
        assert bad.what == what and bad.why.endswith(why), found.site
        assert scene.index.address(found.site.number) == halt.told[-2][0]
    kind = found.verdict.kind.name if found.verdict is not None else "ORIGIN"
    assert kind == ("STACK_OVERFLOW" if way == "overflow" else "ORIGIN"), found.verdict
    trap = trapped(scene, found.site, halt.registers)
    assert (None if trap is None else trap.address) == (found.site.address if way == "undefined" else None)
