"""The cores for tests of exceptions, and helpers for their programs."""

from __future__ import annotations

import struct
from typing import Dict, Iterator, List, Tuple

import pytest

from tests.board import assembly
from tests.board.assembly import Program

NO_EXECUTION = 0xFFFFFFFE
CFSR = 0xE000ED28
HFSR = 0xE000ED2C
BFAR = 0xE000ED38
LR, XPSR = 14, 16


# EXC_RETURN of an Armv8-M core without Security Extension, and of Armv7-M for the same.
EXC_RETURNS: Dict[str, Dict[int, int]] = {
    "m33": {},
    "m7": {
        0xFFFFFFB0: 0xFFFFFFF1,
        0xFFFFFFB8: 0xFFFFFFF9,
        0xFFFFFFBC: 0xFFFFFFFD,
        0xFFFFFFA8: 0xFFFFFFE9,
        0xFFFFFFF9: 0xFFFFFFF5,
    },
}
LOCKUP = {"m33": 0xEFFFFFFE, "m7": 0xFFFFFFFE}

_core = "m33"


@pytest.fixture(autouse=True, params=["m33", "m7"], name="core")
def fixture_core(request: pytest.FixtureRequest) -> Iterator[str]:
    """Choose the core that the programs of a test run on."""
    global _core
    _core = request.param
    yield _core


def program(source: str) -> Program:
    """Assemble a program for the core at hand and load it."""
    return assembly.program(source, _core)


def exc_return(value: int) -> int:
    """Return the core's own value of EXC_RETURN for that of a Cortex-M33."""
    return EXC_RETURNS[_core].get(value, value)


def words(run: Program, address: int, count: int) -> Tuple[int, ...]:
    return struct.unpack("<%dI" % count, run.machine.read_block(address, 4 * count))


def events(run: Program) -> List[Tuple[str, int, int]]:
    """Return what happened after the reset."""
    return run.recorder.events[1:]
