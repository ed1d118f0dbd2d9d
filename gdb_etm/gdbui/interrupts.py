"""Handlers of GDB's events that Ctrl-C does not get past."""

from __future__ import annotations

from typing import Any, Callable, Generator


def guarded(react: Callable[[Any], None], interrupted: Callable[[], None]) -> Callable[[Any], None]:
    """Make a handler that takes Ctrl-C from its first instruction on.

    Python raises KeyboardInterrupt where a function begins, before any ``try`` in it; GDB then prints it, and the
    handler is not called.  A generator is within its ``try`` when it is called.

    :param react: Called with the event.
    :param interrupted: Called where Ctrl-C came, whether before ``react`` or in the midst of it.
    """
    handler = _handler(react, interrupted)
    next(handler)
    return handler.send


def _handler(react: Callable[[Any], None], interrupted: Callable[[], None]) -> Generator[None, Any, None]:
    while True:
        # The outer one is for the moments between the inner one's.
        try:
            while True:
                try:
                    react((yield))
                except KeyboardInterrupt:
                    interrupted()
        except KeyboardInterrupt:
            continue
