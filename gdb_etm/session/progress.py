"""Progress of long work, on a line that vanishes.

It is shown after a second.
"""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from typing import Callable, Iterator, Optional, Protocol, TextIO

# Seconds before the line is shown.
_PATIENCE = 1.0
# Seconds between two changes of it.
_BETWEEN = 0.2
# Columns that a terminal's "^C" takes up after the line.
_ECHO = 2


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in a piece of work, with its progress as message.

    The message is such as ``"while decoding 64 MiB of trace, at 43%"``.
    """


class Screen(Protocol):
    """A place for one line that is replaced and taken away."""

    def show(self, text: str) -> None:
        """Put ``text`` in the place of what is shown."""

    def clear(self) -> None:
        """Take away what is shown."""


class TerminalLine:
    """A :class:`Screen` on a terminal.

    The line is no output: neither a log nor a pipe nor a caller that collects what a command prints is to see it, so it
    goes to the terminal itself, and nowhere when there is none.

    :param stream: Standard error; None when the process has none.
    :param is_free: Whether the terminal shows plain lines at the moment.
    """

    def __init__(self, stream: Optional[TextIO], is_free: Callable[[], bool] = lambda: True) -> None:
        self._stream = stream if stream is not None and stream.isatty() else None
        self._is_free = is_free
        self._shown = 0

    def show(self, text: str) -> None:
        """Write over the line; it is cut to the terminal's width."""
        if self._stream is None or not (self._shown or self._is_free()):
            return
        text = text[: self._width() - 1 - _ECHO]
        before, self._shown = self._shown, max(self._shown, len(text))  # Ctrl-C may come between writing and noting
        self._write("\r" + text.ljust(before))
        self._shown = len(text) if self._stream is not None else 0

    def clear(self) -> None:
        """Write blanks over the line."""
        if self._shown and self._stream is not None:
            self._write("\r%s\r" % (" " * (self._shown + _ECHO)))
            self._shown = 0

    def _width(self) -> int:
        assert self._stream is not None
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except OSError:
            return 80

    def _write(self, text: str) -> None:
        assert self._stream is not None
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            self._stream = None  # the terminal is gone; whoever prints next will say so


class Task:
    """A piece of work that is being done.

    :param what: It, as in ``"decoding 64 MiB of trace"``.
    :param total: Its size, in whatever :meth:`advance` counts.
    :param screen: Where to show it.
    """

    def __init__(self, what: str, total: int, screen: Optional[Screen]) -> None:
        self._what = what
        self._total = total
        self._done = 0
        # Seconds that it waits for others; None where it is known how much is done.
        self._waited: Optional[int] = None
        self._screen = screen
        self._next = time.monotonic() + _PATIENCE

    def advance(self, size: int, total: Optional[int] = None) -> None:
        """Note that more of it is done.

        :param total: The size of the whole, where it was not known before.
        """
        self._done += size
        self._total = self._total if total is None else total
        self._show()

    def wait(self, seconds: float) -> None:
        """Note that it takes longer, where nobody knows how long.

        :param seconds: Since its beginning.
        """
        self._waited = int(seconds)
        self._show()

    def _show(self) -> None:
        if self._screen is not None and time.monotonic() >= self._next:
            self._screen.show("%s: %s (Ctrl-C ends it)" % (self._what[:1].upper() + self._what[1:], self.share))
            self._next = time.monotonic() + _BETWEEN

    @property
    def what(self) -> str:
        """What is being done."""
        return self._what

    @property
    def share(self) -> str:
        """How much of it is done.

        As in ``"43%"``; or ``"3 s"``, where it waits for others.
        """
        if self._waited is not None:
            return "%d s" % self._waited
        return "%d%%" % (100 * min(self._done, self._total) // max(self._total, 1))


class Meter:
    """Watches pieces of work.

    :param screen: Where to show how far they are; None shows nothing.
    """

    def __init__(self, screen: Optional[Screen] = None) -> None:
        self._screen = screen

    @contextmanager
    def task(self, what: str, total: int = 0) -> Iterator[Task]:
        """Measure a piece of work, which reports by :meth:`Task.advance`.

        :param what: It, as in ``"decoding 64 MiB of trace"``.
        :param total: Its size, in the unit of what is reported; 0 if the work reports it.
        :raises Interrupted: In the place of a KeyboardInterrupt out of the work.
        """
        task = Task(what, total, self._screen)
        try:
            yield task
        except Interrupted:
            raise
        except KeyboardInterrupt:
            raise Interrupted("while %s, at %s" % (task.what, task.share)) from None
        finally:
            if self._screen is not None:
                self._screen.clear()
