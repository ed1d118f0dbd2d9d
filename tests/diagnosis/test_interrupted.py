"""Worked by hand: a failed assertion below a handler."""

from __future__ import annotations

from typing import List

from gdb_etm.capture import Core
from gdb_etm.diagnosis.names import DebugNames
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.diagnosis.site import find_site, may_be_wrong
from gdb_etm.history.calls import call_history
from gdb_etm.history.exits import Exits
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.program.cfi import load_frames
from gdb_etm.program.frame_variables import load_frame_variables
from gdb_etm.program.variables import load_variables
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import CoreState, no_memory
from tests.firmware.build import symbol
from tests.history.executed import Item, Taken, history_of
from tests.recovery.small import CODE, built

# The function asks for an NMI, whose handler resets the chip.
SOURCE = """
    .type start, %function
    cmp r0, #0
    bne 1f
    bl assert_failed
1:
    b end
    .type assert_failed, %function
assert_failed:
    str r1, [r2]
    b assert_failed
    .type handler, %function
handler:
    nop
"""


def test_what_has_noticed_is_found_below_a_handler() -> None:
    path = built(SOURCE)
    noticed, handler = symbol(path, "assert_failed"), symbol(path, "handler")
    ran: List[Item] = [CODE, CODE + 2, CODE + 4, noticed, Taken(2, noticed + 2), handler]
    history = history_of(path, ran, handler + 2)
    history.source = history.source._replace(core=Core("cpu_0", "Cortex-M33", {}))
    end = CoreState({"pc": handler + 2, "control": 0}, no_memory)
    frames, debugger = load_frames([path]), OfflineDebugger([path])
    calls = call_history(history, debugger.function_at, Exits(history.program))
    names = DebugNames(
        load_variables([path]), load_frame_variables([path]), frozenset(), lambda address: "", debugger.function_at
    )
    scene = Scene(Recovery(history, end, rules=Rules(frames=frames)), calls, frames, names)
    assert may_be_wrong(scene, handler + 2)
    site = find_site(scene, end.registers)
    assert site is not None and (site.event, site.number, site.address) == (None, 3, CODE + 4)
    assert site.failure is not None and site.failure.function is not None
    assert site.failure.function.name == "assert_failed"
