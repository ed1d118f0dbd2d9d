"""The board's truth: every load and store that a Cortex-M7 made, by what it traced of them, with address and value."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import pytest

from gdb_etm.capture import Capture
from gdb_etm.history.build import build
from gdb_etm.history.store import Instruction
from gdb_etm.protocols import elements
from gdb_etm.protocols.elements import GapReason, Transfer
from tests.board import hand
from tests.board.test_etm_unit import event, run_with_truth
from tests.execution import EXCEPTION_RETURN, Event

PROGRAMS = ("sort", "interrupts", "tables", "branches", "fpu", "tasks", "ticks", "transfers")
INSTRUCTIONS = hand.LOADS | hand.STORES | hand.TIMESTAMPS
BOTH = INSTRUCTIONS | hand.ADDRESSES | hand.VALUES
FULL = BOTH | hand.RETURN_STACK | hand.CYCLES
_KEYS = 32


class Moved(NamedTuple):
    """A transfer as truth and trace both tell it."""

    store: Optional[bool]
    address: Optional[int]
    size: Optional[int]
    value: Optional[int]


Step = Tuple[Event, Tuple[Moved, ...]]
"""An instruction or event and what it transferred."""


def truth_of(lines: Sequence[str]) -> List[Step]:
    """Return the truth's steps."""
    steps: List[Tuple[Event, List[Moved]]] = []
    for line in lines:
        words = line.split()
        if words[0] in ("load", "store"):
            steps[-1][1].append(Moved(words[0] == "store", int(words[1], 16), int(words[2]), int(words[3], 16)))
        else:
            steps.append((event(line), []))
    return [(what, tuple(moved)) for what, moved in steps]


def told(capture: Capture, passed_over: Sequence[GapReason] = (GapReason.TRACE_ON,)) -> List[Step]:
    """Decode a capture of one core."""
    (history,) = build(capture).values()
    found: List[Step] = []
    for number, item in _numbered(history.walk(1, len(history))):
        if isinstance(item, Instruction):
            found.append((item.address, _moved(history.transfers(number))))
        elif isinstance(item, elements.Exception_):
            assert item.return_address is not None
            found.append((("exception", item.number, item.return_address), _moved(history.event_transfers(item))))
        elif isinstance(item, elements.ExceptionReturn):
            found.append((EXCEPTION_RETURN, _moved(history.event_transfers(item))))
        elif isinstance(item, elements.Gap) and item.reason not in passed_over:
            found.append((str(item), ()))
    return found


def _numbered(items: Any) -> Any:
    number = 0
    for item in items:
        number += isinstance(item, Instruction)
        yield number, item


def _moved(transfers: Sequence[Transfer]) -> Tuple[Moved, ...]:
    return tuple(Moved(each.store, each.address, each.size, each.value) for each in transfers)
