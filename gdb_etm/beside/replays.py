"""A decoded history as GDB's remote target."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Optional, Sequence

from gdb_etm.errors import CaptureError
from gdb_etm.history.activations import Activations
from gdb_etm.history.entries import Resolver
from gdb_etm.history.path import Path
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.image import Program, load_constants
from gdb_etm.protocols.elements import Context
from gdb_etm.protocols.profile import is_m_profile
from gdb_etm.replay.console import Replay
from gdb_etm.replay.layout import RegisterLayout, a_profile, m_profile
from gdb_etm.replay.motion import Motion
from gdb_etm.replay.past import RecoveredPast
from gdb_etm.replay.threads import PastThreads
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.halt_states import Anchored
from gdb_etm.session.kernels import Constant
from gdb_etm.session.recovery_inputs import halted_states, has_a64, rules_of
from gdb_etm.session.threads import NamedThreads
from gdb_etm.views.text import end_text

# From GDB 16 on GDB goes on to say that further execution will be.
CAPTURE_ENDS = "[the capture ends here: nothing can be added to it]"


def make_replay(
    decoded: Decoded,
    resolve: Resolver,
    paths: Sequence[str],
    anchored: Anchored,
    layout: Optional[RegisterLayout] = None,
    finish: str = CAPTURE_ENDS,
    constant: Constant = lambda expression: None,
) -> Replay:
    """Make a history one that GDB can be answered from.

    :param decoded: The history.
    :param resolve: Finds the function at an address.
    :param paths: Its ELF files.
    :param anchored: What is known of the core before and after.
    :param layout: The core's registers; None takes those of its profile.
    :param finish: What comes after the last instruction, as a line of text.
    :param constant: What GDB knows of addresses and sizes in the program.
    :raises CaptureError: There is nothing to replay, or it is 64-bit code; the registers are a 32-bit core's.
    """
    history = decoded.history
    if not len(history):
        raise CaptureError('the history holds no instructions; "etm history" shows why')
    if has_a64(history):
        raise CaptureError('64-bit code cannot be replayed; "etm history" and "gdb-etm history" show it')
    path = Path(history)
    if anchored.end is not None and anchored.end.pc is not None:
        path.halted_at = anchored.end.pc
    constants = _constants(history, paths)
    ends = anchored.before(history), anchored.after(history)
    rules = rules_of(anchored, history, paths)
    past = RecoveredPast(path, constants, ends, rules, _thread_code(history), halted_states(anchored))

    def activations() -> Activations:
        return Activations(decoded.calls(resolve), len(history))

    motion = Motion(path, activations, past)
    if layout is None:
        layout = m_profile() if is_m_profile(history.source.core) else a_profile()
    named = lru_cache(None)(lambda: NamedThreads(decoded.calls(resolve), ends[1], constant))
    threads = PastThreads(
        lambda: decoded.calls(resolve) if decoded.has_threads else None,
        lambda: named().labels(),
        lambda: named().mixed,
        past,
    )
    return Replay(motion, past, layout, end_text(history.end_reason), finish, threads)


def _constants(history: ExecutionHistory, paths: Sequence[str]) -> Program:
    # As they were when the history ran: a file may have been built again since.
    images = [image for path in paths for image in load_constants(path)]
    own = [image._replace(data=history.program.read(image.address, len(image.data))) for image in images]
    return Program([*own, *images])


def _thread_code(history: ExecutionHistory) -> Optional[int]:
    # What LR holds in a handler that interrupted Thread mode on the main stack (Armv8-M ARM, D1.2.95): of Armv8-M in
    # Non-secure state another one than in Secure state and of older cores.
    core = history.source.core
    if core is None or not is_m_profile(core):
        return None
    if _ARMV8_M.search(core.type.lower()) is None:
        return 0xFFFFFFF9
    worlds = {event.non_secure for event in history.events if isinstance(event, Context)}
    return None if len(worlds) != 1 else 0xFFFFFFB8 if worlds.pop() else 0xFFFFFFF9


_ARMV8_M = re.compile(r"cortex-m(23|33|35p|52|55|85)|star-mc|armv8")
