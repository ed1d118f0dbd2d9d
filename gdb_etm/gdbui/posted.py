"""Events that are posted to GDB's event loop.

GDB before 16 frees those that still wait at its exit after its Python has ended, and crashes.  Some do: a batch need
not come to its event loop any more.  Then the process ends without freeing anything; all else is done by then.
"""

from __future__ import annotations

import atexit
from typing import Callable, List

import gdb

from gdb_etm.gdbui.version import VERSION

_FREES_LATE = VERSION < (16,)


class PostedEvents:
    """Events on their way to GDB's event loop."""

    def __init__(self) -> None:
        self._waiting: List[object] = []
        if _FREES_LATE:
            atexit.register(self._leave)

    def post(self, react: Callable[[], None]) -> None:
        """Have GDB's event loop call something; any thread may ask for it."""

        def event() -> None:
            self._waiting.remove(event)
            react()

        self._waiting.append(event)
        gdb.post_event(event)

    def _leave(self) -> None:
        # Python ends; C's own list of what is done at the exit is next, the last entry first.
        if not self._waiting:
            return
        try:
            import ctypes

            library = ctypes.CDLL(None)
            steps = library._exit, library.fcloseall
            for step in steps:
                library.on_exit(step, None)  # each is called with GDB's exit status
        except (ImportError, OSError, AttributeError):
            return  # another C library


POSTED = PostedEvents()
