"""Histories from a list of executed addresses and exceptions."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Sequence, Union

from gdb_etm.board.accesses import BusAccess
from gdb_etm.board.frame import PSP
from gdb_etm.board.machine import Machine
from gdb_etm.capture import BufferEnd, TraceSource
from gdb_etm.history.calls import call_history
from gdb_etm.history.cursor import Cursor
from gdb_etm.history.exits import Exits
from gdb_etm.history.lines import SymbolTables
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.blocks import Blocks
from gdb_etm.program.image import Program, load_elf
from gdb_etm.program.isa import InstructionKind, Isa, is_unconditional
from gdb_etm.protocols.elements import DEBUG_HALT, Exception_, ExceptionReturn, Gap, Range
from gdb_etm.protocols.recorder import Leg, Recorder, RunTable
from gdb_etm.recovery.lift.template import Templates
from tests.board import witness


class Taken(NamedTuple):
    """An exception was taken."""

    number: int
    return_address: int
    # The process stack pointer, behind the frame that was pushed.
    stack: int = 0


class Returned(NamedTuple):
    """An exception returned."""

    # The process stack pointer, before a frame is popped or after.
    stack: int = 0


# An executed address, or what happened between two.
Item = Union[int, Taken, Returned, Gap, Exception_]


class StackRecorder(witness.Recorder):
    """Remembers the process stack pointer as well."""

    machine: Optional[Machine] = None

    def exception(self, number: int, return_address: int, pushed: Sequence[BusAccess] = ()) -> None:
        self.stream.append(Taken(number, return_address, self._stack()))

    def exception_return(self, popped: Sequence[BusAccess] = ()) -> None:
        self.stream.append(Returned(self._stack()))

    def _stack(self) -> int:
        return self.machine.core.engine.read(PSP) if self.machine is not None else 0


def run_on_board(path: str, limit: int = 2_000_000) -> List[Item]:
    """Run a program on the board up to a BKPT."""
    recorder = StackRecorder()
    machine = witness.board(path, recorder)
    recorder.machine = machine
    machine.write(witness.DHCSR, 4, witness.RUN)
    while not machine.core.halted and len(recorder.addresses) < limit:
        machine.run(5000)
    items: List[Item] = []
    for item in recorder.stream:
        if isinstance(item, int):
            items.append(item)
        elif isinstance(item, (Taken, Returned)) and items:
            items.append(item)
    return items


def history_of(
    path: str, items: Sequence[Item], halted_at: Optional[int] = None, isa: Isa = Isa.T32
) -> ExecutionHistory:
    """Make the history that a trace of ``items`` decodes to."""
    images = load_elf(path)
    program = Program(images)
    blocks, templates = Blocks(program), Templates(program, True)
    recorder = Recorder(RunTable(), lambda position: position)
    ranges: List[Range] = []
    legs: Dict[Range, Leg] = {}
    start = count = 0
    for at, item in enumerate(items):
        if not isinstance(item, int):
            if isinstance(item, Taken):
                name = {11: "SVC", 14: "PendSV", 15: "SysTick", 3: "HardFault"}.get(item.number, "exception")
                recorder.event(Exception_(0, item.number, name, item.number, item.return_address))
            else:
                recorder.event(ExceptionReturn(0) if isinstance(item, Returned) else item)
            continue
        insn = blocks.instruction(item, isa)
        assert insn is not None
        start = start if count else item
        count += 1
        after = item + insn.size
        following = items[at + 1] if at + 1 < len(items) else None
        if insn.kind in (InstructionKind.OTHER, InstructionKind.WAIT) and isinstance(following, int) and count < 50:
            assert following == after, (hex(item), hex(following))
            continue
        if isinstance(following, int):
            to_next = insn.kind is InstructionKind.DIRECT and insn.target == after
            # A switch of threads may pop where the next function begins.
            is_sure = is_unconditional(int.from_bytes(program.read(item, 4), "little"), isa)
            is_sure = is_sure and not templates.it_state(item, isa)
            to_next = to_next or insn.kind is InstructionKind.INDIRECT and is_sure
            taken = to_next or insn.kind is not InstructionKind.OTHER and following != after
        else:
            target = following.return_address if isinstance(following, Taken) else after
            if following is None and halted_at is not None:
                target = halted_at
            taken = insn.kind not in (InstructionKind.OTHER, InstructionKind.WAIT) and target != after
            if isinstance(following, Returned):
                taken = True
        executed = Range(start, after, count, isa, taken or insn.kind is InstructionKind.OTHER)
        ranges = [executed]
        recorder.add(legs.setdefault(executed, Leg(tuple(ranges))), 0)
        count = 0
    if halted_at is not None:
        recorder.event(Exception_(0, 0x18, DEBUG_HALT, None, halted_at))
    source = TraceSource("ETM_0", "etmv4", {}, None, tuple(images))
    return ExecutionHistory(recorder, source, blocks, BufferEnd.STARTED)


def cursor_of(history: ExecutionHistory, places: SymbolTables) -> Cursor:
    """Make a cursor."""
    exits = Exits(history.program)
    return Cursor(history, lambda: call_history(history, places.function_at, exits), places)
