"""Handlers of events, worked by hand: Ctrl-C at their begin and within."""

from __future__ import annotations

import _thread
from collections import deque
from functools import partial
from typing import Any, Callable, List

import pytest

from gdb_etm.gdbui.interrupts import guarded


def _call_interrupted(handler: Callable[[Any], None], event: object) -> None:
    # Both from C, as GDB does: Python looks for the signal only when the handler begins.
    calls = [partial(_thread.interrupt_main), partial(handler, event)]
    deque(map(partial.__call__, calls), maxlen=0)


def test_a_plain_function_is_not_even_begun() -> None:
    """Why the handlers are guarded."""
    told: List[object] = []

    def plain(event: object) -> None:
        try:
            told.append(event)
        except KeyboardInterrupt:
            told.append("interrupted")

    with pytest.raises(KeyboardInterrupt):
        _call_interrupted(plain, 1)
    assert not told


def test_ctrl_c_at_any_time_is_taken() -> None:
    told: List[object] = []

    def react(event: object) -> None:
        if event == "midst":
            raise KeyboardInterrupt
        told.append(event)

    handler = guarded(react, lambda: told.append("interrupted"))
    for _ in range(3):
        _call_interrupted(handler, 1)
        handler(2)
        handler("midst")
        handler(3)
    assert told == ["interrupted", 2, "interrupted", 3] * 3


def test_ctrl_c_upon_ctrl_c_does_not_end_it() -> None:
    told: List[object] = []

    def interrupted() -> None:
        told.append("interrupted")
        raise KeyboardInterrupt

    handler = guarded(told.append, interrupted)
    for event in (1, 2):
        _call_interrupted(handler, 0)
        handler(event)
    assert told == ["interrupted", 1, "interrupted", 2]
