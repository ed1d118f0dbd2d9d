"""``etm fault``: why the program went wrong."""

from __future__ import annotations

from typing import Iterator

from gdb_etm.commands.declare import Command, Values
from gdb_etm.commands.threads import TRACE_ID
from gdb_etm.program.isa import Isa
from gdb_etm.session.diagnosed import Diagnosed, diagnosed
from gdb_etm.session.session import DebugSession
from gdb_etm.views.fault import Words, fault_lines


def run_fault(session: DebugSession, values: Values) -> Iterator[str]:
    """Say why the program went wrong."""
    return explained(session, diagnosed(session, values.get(TRACE_ID)))


def explained(session: DebugSession, found: Diagnosed) -> Iterator[str]:
    """Write a diagnosis as lines."""
    yield from fault_lines(found.diagnosis, found.status, found.scene, words_of(session, found))


def words_of(session: DebugSession, found: Diagnosed) -> Words:
    """Make the debugger's way to write what is in a program."""
    debugger, history = session.debugger, found.decoded.history

    def text(address: int, size: int, isa: Isa) -> str:
        code = history.program.read(address, size)
        return " ".join(debugger.disassemble(address, code, isa).partition("@")[0].split())

    def at(address: int) -> str:
        template = found.scene.template_at(address & ~1, len(history))
        return "" if template is None else text(template.address, template.size, template.isa)

    def instruction(number: int) -> str:
        one = history.instruction(number)
        return text(one.address, one.size, one.isa)

    def line(address: int) -> str:
        there = debugger.line_at(address & ~1)
        return "%s:%d" % (there.path, there.line) if there is not None else ""

    def source(address: int) -> str:
        there = debugger.line_at(address & ~1)
        return (debugger.source_text(there) or "").strip() if there is not None else ""

    def symbol(address: int) -> str:
        return debugger.symbol_at(address & ~1)

    return Words(instruction, at, symbol, line, source)


FAULT = Command(
    "fault",
    "Say why the program went wrong: at a fault, or where it stopped itself.",
    run_fault,
    details=(
        "What the fault status registers say; the instruction that faulted, and which of its operands is bad; where\n"
        "the bad value came from, step by step; and the first of these steps that looks wrong.  A failed assertion,\n"
        "abort() and a watchdog's reset are explained in the same way.\n"
        "A verdict rests on values that are exact or assumed, and says which."
    ),
    arguments=(TRACE_ID,),
    examples=(("fault", "after a halt in HardFault_Handler"),),
)
