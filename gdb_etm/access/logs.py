"""pyOCD's warnings: kept for whoever asks, and written to stderr without floods."""

from __future__ import annotations

import logging
import sys
from collections import deque
from typing import Deque, List

KEPT_LINES = 100
_LINE_LIMIT = 500
# A lost probe makes pyOCD's polling threads report the same two or three errors a hundred times a second.
_REMEMBERED = 8


class LogKeeper:
    """Log handler that keeps the last warnings.

    Each is written to stderr unless it was among the few before it.
    """

    def __init__(self) -> None:
        self._lines: Deque[str] = deque(maxlen=KEPT_LINES)
        self._recent: Deque[str] = deque(maxlen=_REMEMBERED)

    def take(self, record: logging.LogRecord) -> None:
        """Take one record; not for two threads at once."""
        try:
            text = record.getMessage()
        except (TypeError, ValueError):
            text = str(record.msg)
        line = ("%s: %s" % (record.levelname.lower(), text))[:_LINE_LIMIT].replace("\n", " ")
        if line in self._recent:
            return
        self._recent.append(line)
        self._lines.append(line)
        print(line, file=sys.stderr, flush=True)

    def lines(self) -> List[str]:
        """Return the lines kept, oldest first."""
        return list(self._lines)


class _Handler(logging.Handler):
    # The logging module calls it under its lock.

    def __init__(self, keeper: LogKeeper) -> None:
        super().__init__(logging.WARNING)
        self.__keeper = keeper

    def emit(self, record: logging.LogRecord) -> None:
        self.__keeper.take(record)


def keep_warnings() -> LogKeeper:
    """Send every warning of this process to a new :class:`LogKeeper`."""
    keeper = LogKeeper()
    logging.getLogger().addHandler(_Handler(keeper))
    return keeper
