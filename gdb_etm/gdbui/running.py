"""Runs of the target by ``continue``, bounded and quiet.

Bounded in time, and without what GDB prints at each halt.
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
import time
from contextlib import contextmanager
from functools import partial
from typing import IO, Any, Callable, Iterator, Optional

import gdb

from gdb_etm.errors import CommandError
from gdb_etm.gdbui.command_line import command_words
from gdb_etm.gdbui.posted import POSTED
from gdb_etm.session.debugger import Ran

_now = time.monotonic
_STDOUT = 1
_STYLE = re.compile(r"\x1b\[[0-9;:]*m")
_MACHINES = re.compile(r"-?-i(nterpreter)?([= ](?!console|tui)|\Z)")


@contextmanager
def kept_quiet() -> Iterator[Callable[[], str]]:
    """Keep what GDB prints to itself.

    GDB prints a halt where no redirection of its own reaches: so for this time its standard output is a file.  With
    TUI, and where a program reads the output, all is printed as ever.

    :returns: What gives what was printed since the last call.
    """
    if _is_watched():
        yield lambda: ""
        return
    with tempfile.TemporaryFile() as file:
        gdb.flush()
        kept = os.dup(_STDOUT)
        try:
            _unpaged()
            os.dup2(file.fileno(), _STDOUT)
            yield partial(_taken, file)
        finally:
            gdb.flush()
            os.dup2(kept, _STDOUT)
            os.close(kept)


def _unpaged() -> None:
    # GDB counts the lines, and would ask the user for leave to go on; it counts anew at the next prompt.
    if not gdb.parameter("pagination"):
        return

    def page() -> None:
        gdb.events.before_prompt.disconnect(page)
        gdb.execute("set pagination on")

    gdb.execute("set pagination off")
    gdb.events.before_prompt.connect(page)


def _taken(file: IO[bytes]) -> str:
    # The position of the file is GDB's, too.
    gdb.flush()
    size = os.lseek(file.fileno(), 0, os.SEEK_CUR)
    os.lseek(file.fileno(), 0, os.SEEK_SET)
    text = os.read(file.fileno(), size)
    os.lseek(file.fileno(), 0, os.SEEK_SET)
    os.ftruncate(file.fileno(), 0)
    # A line of source that GDB has kept is styled for the terminal.
    return _STYLE.sub("", text.decode("utf-8", "replace"))


def _is_watched() -> bool:
    if any(map(_MACHINES.match, command_words())):
        return True
    try:
        return "not active" not in str(gdb.execute("info win", False, True))
    except gdb.error:
        return False  # this GDB was built without TUI


class TimedRun:
    """One run.

    The time is taken as near to the target as GDB's events are.
    """

    def __init__(self) -> None:
        self._begin = self._end = _now()
        self._is_on = True
        # What interrupts it when its time is over.
        self._alarm: Optional[threading.Timer] = None
        # Whether the time was over before the target halted.
        self._is_late = False

    def run(self, seconds: Optional[float]) -> Ran:
        """Run ``continue``; it returns at the halt.

        :raises CommandError: GDB cannot run the target.
        """
        gdb.events.cont.connect(self._on_cont)
        try:
            if seconds is not None:
                self._alarm = threading.Timer(seconds, partial(POSTED.post, self._interrupt))
                self._alarm.start()
            gdb.execute("continue")
        except gdb.error as error:
            raise CommandError(str(error).rstrip(".")) from None
        finally:
            self._end_alarm()
            gdb.events.cont.disconnect(self._on_cont)
        return Ran(not self._is_late, max(self._end - self._begin, 0.0))

    def _on_cont(self, event: Any) -> None:
        self._begin = _now()

    def halted(self) -> None:
        """Note that the target has just halted.

        To read its trace is no part of the run.
        """
        self._end = _now()
        self._end_alarm()

    def _end_alarm(self) -> None:
        self._is_on = False
        if self._alarm is not None:
            self._alarm.cancel()

    def _interrupt(self) -> None:
        # Run by GDB's event loop, which may come to it when the target has halted or runs again.
        thread = gdb.selected_thread()
        if self._is_on and thread is not None and thread.is_running():
            self._is_late = True
            gdb.execute("interrupt")
