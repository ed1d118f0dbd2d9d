"""Work that goes on while the prompt is free.

A thread does it, in Python alone.  It works in turns with the debugger's own thread: whoever runs a command takes the
turn, and the thread waits at its next report of progress until the prompt is free again.  It never calls the debugger.
Nor does it collect garbage, which may be the debugger's objects.
"""

from __future__ import annotations

import atexit
import signal
import threading
from contextlib import contextmanager
from typing import Callable, Iterator, Optional

from gdb_etm.protocols.garbage import garbage_uncollected

# The setting that allows it.
BACKGROUND = "recovery-background"
# Seconds that the end of the process waits for the thread.
_FAREWELL = 2.0

# What the debugger's own thread waits for; threads inherit what is blocked.
_SIGNALS = (signal.SIGINT, signal.SIGCHLD, signal.SIGALRM, signal.SIGWINCH)

# Of each thread, the worker that it runs, if any.
_LOCAL = threading.local()


class Ended(Exception):
    """The work in the background is not wanted any more."""


class Background:
    """At most one piece of work in the background."""

    def __init__(self) -> None:
        # Whether somebody sits at a prompt; a script waits for its answers.
        self.is_attended = False
        # Whether the user wants it.
        self.is_wanted = True
        self._turn = threading.Condition()
        self._worker: Optional[_Worker] = None
        # How often the debugger's own thread holds the turn, or waits for it.
        self._holders = 0

    @property
    def is_possible(self) -> bool:
        """Whether work can be left to the background."""
        return self.is_attended and self.is_wanted

    def works_for(self, owner: object) -> bool:
        """Check whether somebody's work is not done."""
        worker = self._worker
        return worker is not None and worker.owner is owner and not worker.is_done

    def start(self, owner: object, work: Callable[[], None]) -> None:
        """Begin work in the place of any other.

        :param owner: Whose it is.
        :param work: Calls :meth:`tick` often, which ends it by an exception.
        :raises Exception: What the same owner's work has failed by, once.
        """
        before = self._worker
        self.stop()
        if before is not None and before.owner is owner and before.failure is not None:
            raise before.failure
        worker = _Worker(owner, work, self._await, self._give_turn)
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            with self._turn:
                self._worker = worker
            worker.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        atexit.unregister(self._leave)
        atexit.register(self._leave)

    def stop(self) -> None:
        """End the work, and its thread."""
        worker = self._worker
        if worker is None:
            return
        with self.held(), self._turn:
            self._worker = None
            self._turn.notify_all()
        worker.join()

    def join(self) -> None:
        """Wait until the work is done."""
        worker = self._worker
        if worker is not None:
            worker.join()

    def _leave(self) -> None:
        # The process ends, whatever the thread does.
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.join(_FAREWELL)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Take the turn: meanwhile the work stands still."""
        self._holders += 1
        try:
            with self._turn:
                while self._worker is not None and self._worker.has_turn:
                    self._turn.wait()
            yield
        finally:
            self._holders -= 1
            with self._turn:
                self._turn.notify_all()

    def tick(self) -> bool:
        """Let others have their turn.

        :returns: Whether this is the thread in the background.
        :raises Ended: In that thread: its work is not wanted any more.
        """
        worker = _own_worker()
        if worker is None:
            return False
        if self._holders or worker is not self._worker:
            self._give_turn(worker)
            self._await(worker)
        return True

    def _give_turn(self, worker: _Worker) -> None:
        with self._turn:
            worker.has_turn = False
            self._turn.notify_all()

    def _await(self, worker: _Worker) -> None:
        with self._turn:
            while True:
                if worker is not self._worker:
                    raise Ended
                if not self._holders:
                    worker.has_turn = True
                    return
                self._turn.wait()


class _Worker:
    # Does one piece of work, in a thread of its own.

    def __init__(
        self,
        owner: object,
        work: Callable[[], None],
        begin: Callable[[_Worker], None],
        end: Callable[[_Worker], None],
    ) -> None:
        self._thread = threading.Thread(target=self._run, name="gdb_etm background", daemon=True)
        self.owner = owner
        # Whether it works now, or waits.
        self.has_turn = False
        self.is_done = False
        self.failure: Optional[Exception] = None
        self._work = work
        self._begin = begin
        self._end = end

    def start(self) -> None:
        self._thread.start()

    def join(self, timeout: Optional[float] = None) -> None:
        self._thread.join(timeout)

    def _run(self) -> None:
        _LOCAL.worker = self
        try:
            self._begin(self)
            with garbage_uncollected():
                self._work()
        except Ended:
            pass
        except Exception as error:  # printed here, it would go through the debugger
            self.failure = error
        finally:
            self.is_done = True
            self._end(self)


def in_background() -> bool:
    """Check whether this is the thread that works in the background."""
    return _own_worker() is not None


def _own_worker() -> Optional[_Worker]:
    worker: Optional[_Worker] = getattr(_LOCAL, "worker", None)
    return worker
