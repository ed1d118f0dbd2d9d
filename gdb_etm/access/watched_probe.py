"""Debug probe whose calls and lock have time limits.

pyOCD 0.46 takes the probe's lock in ``DebugPort._select_ap`` and for reads whose results are fetched later; an error in
between leaves it taken, and every other thread waits for ever.  So what a piece of work has taken is given back at its
end.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from types import MethodType
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence

from pyocd.core import exceptions
from pyocd.probe.debug_probe import DebugProbe

from gdb_etm.access.watchdog import LOOK_SECONDS

# Looks that find the same call still waiting; counted, so that a process that was itself stopped blames no probe.
_STUCK_LOOKS = 8
# One after the other: USB says in many ways that nothing is there any more.
_MOST_FAILURES = 8
# Methods of a probe and of its memory interfaces that take an address and how many values to read.
_READ_SEVERAL = ("read_ap_multiple", "read_memory_block32", "read_memory_block8")


class NonsenseError(exceptions.ProbeError):
    """The probe answered, and pyOCD stumbled over the answer."""


class UsbError(exceptions.ProbeError):
    """The system could not reach the probe."""


class WatchedProbe:
    """A probe as pyOCD uses it, like pyOCD's own ``SharedDebugProbeProxy``.

    Once it is lost every use of it raises ``ProbeDisconnected`` at once.  It is lost when pyOCD says so, when it fails
    again and again, and when it does not return from a call.

    :param probe: The probe itself.
    """

    def __init__(self, probe: DebugProbe) -> None:
        self._probe = probe
        self._lock = threading.RLock()
        self._owner = 0
        # How often the owner has taken the lock; both are the owner's to change.
        self._depth = 0
        # By thread: its call's number of looks so far.
        self._calls: Dict[int, List[int]] = {}
        self._failures = 0
        # Whether calls are to return in time; :meth:`open` may take long.
        self.is_watched = False
        # Why it is lost; None while it is not.
        self.lost: Optional[str] = None
        # What was wrong with it last, unless somebody has set this to None since.
        self.failure: Optional[exceptions.ProbeError] = None
        # The last access that the target did not answer in time; None likewise.
        self.unanswered: Optional[exceptions.TransferTimeoutError] = None
        # Called with the reason when it is lost.
        self.mourners: List[Callable[[str], None]] = []

    @property
    def session(self) -> Any:
        """The pyOCD session that it belongs to."""
        return self._probe.session

    @session.setter
    def session(self, session: Any) -> None:
        self._probe.session = session

    def __getattr__(self, name: str) -> Any:
        """Give the probe's own, its methods watched."""
        value = getattr(self._probe, name)
        if isinstance(value, MethodType):
            value = self._watched(_complete(value))
            setattr(self, name, value)
        return value

    def open(self) -> None:
        """Open the probe; from then on it is watched."""
        self._watched(self._probe.open)()
        self.is_watched = True

    def close(self) -> None:
        """Close the probe, even if it is lost."""
        self._probe.close()

    def get_memory_interface_for_ap(self, address: Any) -> Any:
        """Return the probe's own memory interface, watched, or None."""
        found = self._watched(self._probe.get_memory_interface_for_ap)(address)
        return None if found is None else _Watched(found, self._watched)

    def lock(self) -> None:
        """Take the lock for this thread, which may have it already.

        :raises ProbeDisconnected: The probe is lost.
        """
        while not self._lock.acquire(timeout=LOOK_SECONDS):
            self._refuse_lost()
        self._owner, self._depth = threading.get_ident(), self._depth + 1
        if self.lost is not None:
            self.unlock()
            self._refuse_lost()

    def unlock(self) -> None:
        """Give the lock back, unless this thread does not have it."""
        if self._owner == threading.get_ident():
            self._depth -= 1
            if not self._depth:
                self._owner = 0
            self._lock.release()

    @contextmanager
    def borrowed(self) -> Iterator[None]:
        """Give back at the end what was taken of the lock meanwhile."""
        before = self._held()
        try:
            yield
        finally:
            while self._held() > before:
                self.unlock()

    def look(self) -> None:
        """Check the calls that wait, to find a stuck probe.

        Called every :data:`LOOK_SECONDS`.
        """
        for looks in list(self._calls.values()) if self.is_watched else ():
            looks[0] += 1
            if looks[0] > _STUCK_LOOKS:
                self._lose("%s has not answered for %d s" % (self._probe.unique_id, _STUCK_LOOKS * LOOK_SECONDS))

    def _held(self) -> int:
        return self._depth if self._owner == threading.get_ident() else 0

    def _lose(self, reason: str) -> None:
        if self.lost is None:
            self.lost = reason

    def _refuse_lost(self) -> None:
        if self.lost is not None:
            raise exceptions.ProbeDisconnected(self.lost)

    def _watched(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            self._refuse_lost()
            thread = threading.get_ident()
            before = self._calls.get(thread)
            self._calls[thread] = [0]
            try:
                result = method(*arguments, **options)
            except NotImplementedError:
                raise
            except exceptions.Error as error:
                self._judge(error)
                raise
            except Exception as error:  # whatever else comes out of USB and of answers that are cut
                problem = _problem(error)
                self._judge(problem)
                raise problem from error
            finally:
                if before is None:
                    del self._calls[thread]
                else:
                    self._calls[thread] = before
            self._failures = 0
            # A read whose result is fetched later.
            return self._watched(result) if callable(result) else result

        return call

    def _judge(self, error: exceptions.Error) -> None:
        """Judge by an error whether the probe is lost.

        Most errors are the target's.
        """
        if isinstance(error, exceptions.TransferTimeoutError):
            self.unanswered = error
        if isinstance(error, exceptions.ProbeError):
            self._failures += 1
            self.failure = error
            if isinstance(error, exceptions.ProbeDisconnected) or self.is_watched and self._failures >= _MOST_FAILURES:
                self._lose(str(error))


def _complete(method: MethodType) -> Callable[..., Any]:
    """Refuse answers with another number of values than asked for.

    pyOCD takes the values behind a hole for those that are missing.
    """
    if method.__name__ not in _READ_SEVERAL:
        return method

    def read(address: int, count: int = 1, *others: Any, **options: Any) -> Any:
        found = method(address, count, *others, **options)
        return (lambda: _counted(found(), count)) if callable(found) else _counted(found, count)

    return read


def _counted(found: Sequence[int], count: int) -> Sequence[int]:
    if len(found) != count:
        raise NonsenseError("%d of %d values" % (len(found), count))
    return found


def _problem(error: Exception) -> exceptions.ProbeError:
    if isinstance(error, OSError):
        return UsbError(error.strerror or str(error))
    return NonsenseError("%s: %s" % (type(error).__name__, error))


class _Watched:
    # Another object whose methods ask the probe.

    def __init__(self, inner: Any, watched: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        self._inner = inner
        self._watched = watched

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._inner, name)
        return self._watched(_complete(value)) if isinstance(value, MethodType) else value
