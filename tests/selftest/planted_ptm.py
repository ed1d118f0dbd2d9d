"""Defects of a Cortex-A's core, trace unit and buffer as data."""

from __future__ import annotations

from typing import Any, Tuple

from gdb_etm.board.board import Board
from tests.selftest.planted import (
    Defect,
    acts_as,
    altered,
    each,
    method,
    no_clock,
    on_the_way,
    reads,
    shifted,
    stuck,
    stuck_word,
    to,
    without,
)

A9_CORE, A9_UNIT, A9_FUNNEL, A9_ETB = 0x80090000, 0x8009C000, 0x80004000, 0x80001000
_RAM_BYTE = 0x80


def core_of(board: Board) -> Any:
    """Give a board's core."""
    return board.machine.core


def bad_core_ram(board: Board) -> None:
    """Have a bit of RAM stuck, for the core's own stores."""
    machine: Any = board.machine
    execute = machine.core.engine.execute

    def executed(opcode: int) -> Any:
        found = execute(opcode)
        machine.bus.ram[_RAM_BYTE + 1] &= ~0x20
        return found

    machine.core.engine.execute = executed


PTM_DEFECTS: Tuple[Defect, ...] = (
    Defect("a bit of RAM is stuck", "a9", bad_core_ram, "RAM", "0x20000080 was written 0x[0-9a-f]* and reads"),
    Defect(
        "breakpoints never match",
        "a9",
        lambda b: setattr(core_of(b), "breaks", lambda: False),
        "core",
        "step 2: the core",
    ),
    Defect("BKPT does not halt", "a9", altered(A9_CORE + 0x88, write=without(1 << 14)), "core", "come to its BKPT"),
    Defect("byte address select is stuck", "a9", stuck(A9_CORE + 0x140, 0xF << 5), "core", "step 2: the core is at"),
    Defect("a bit of the trace ID", "a9", stuck(A9_UNIT + 0x200, 1 << 4), "unit registers", "ETMTRACEIDR.*0x00000010"),
    Defect("a bit of a comparator", "a9", stuck(A9_UNIT + 0x04C, 1 << 7, 1 << 7), "unit registers", "ETMACVR4"),
    Defect("a bit of a counter", "a9", stuck(A9_UNIT + 0x144, 1 << 3), "unit registers", "ETMCNTRLDVR2.*0x00000008"),
    Defect("Prog stuck at 0", "a9", reads(A9_UNIT + 0x010, 2), "trace hardware", "ETMSR .*stays 0x"),
    Defect("Prog stuck at 1", "a9", reads(A9_UNIT + 0x010, 2, 2), "instructions", "ETMSR .*stays 0x"),
    Defect("no power", "a9", reads(A9_UNIT + 0x314, 1), "trace hardware", "power"),
    Defect(
        "funnel's ports are closed", "a9", stuck(A9_FUNNEL, 0xFF), "instructions", "buffer is empty|no trace with ID"
    ),
    Defect("another trace ID on the bus", "a9", on_the_way(lambda i, d: (i ^ 2, d)), "instructions", "ID 0x12"),
    Defect("no byte arrives", "a9", no_clock, "instructions", "buffer is empty"),
    Defect("a frame begins a byte late", "a9", shifted, "instructions", "."),
    Defect("a byte in 10,000 is lost", "a9", each(10000, lambda b: b""), "long trace", "instruction|byte 0x"),
    Defect("a bit in 5,000 turns", "a9", each(5000, lambda b: bytes((b ^ 0x20,))), "long trace", "instruction|byte 0x"),
    Defect("a word of the buffer is stuck", "a9", stuck_word, "long trace", "instruction|byte 0x"),
    Defect("Full is stuck at 0", "a9", reads(A9_ETB + 0x0C, 1), "buffer wraps", "STS.Full is 0"),
    Defect("RWP is a word ahead", "a9", altered(A9_ETB + 0x18, lambda v: v + 1), "buffer memory", "RWP reads 0x"),
    Defect("FtStopped stuck at 0", "a9", reads(A9_ETB + 0x300, 2), "buffer memory", "FFSR .*FtStopped=1 was awaited"),
    Defect(
        "the return stack is ignored",
        "a9",
        acts_as(r=(0, without(1 << 29))),
        "return stack",
        "bytes with it, .* without",
    ),
    Defect(
        "branch broadcast is ignored",
        "a9",
        acts_as(r=(0, without(1 << 8))),
        "branch broadcast",
        "bytes with it, .* with",
    ),
    Defect("cycles are not counted", "a9", acts_as(r=(0, without(1 << 12))), "cycle counts", "byte 0x"),
    Defect("timestamps ignored", "a9", acts_as(r=(0, without(1 << 28))), "timestamps", "no timestamp in"),
    Defect("exceptions are not traced", "a9", method("unit", "exception"), "exception", "SVC|no target for"),
    Defect("a counter does not count", "a9", acts_as(r=(0x154, to(0x2406F))), "counter 1", "ETMCNTVR2 is 100"),
    Defect("the sequencer is stuck", "a9", acts_as(r=(0x188, to(0x406F))), "sequencer", "ETMSQR is 1 after 2 steps"),
    Defect(
        "a trigger is not heard", "a9", lambda b: setattr(b.unit, "trigger_out", lambda: None), "stop on trigger", "STS"
    ),
)
