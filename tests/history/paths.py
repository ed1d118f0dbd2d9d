"""Histories written by hand: a T32 program and its path."""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple, Union

from gdb_etm.capture import BufferEnd, Core, MemoryImage, TraceSource
from gdb_etm.history.call_steps import StepMemory
from gdb_etm.history.calls import CallHistory, Entry, Segment, ThreadSwitch, call_history
from gdb_etm.history.exits import Exits
from gdb_etm.history.frames import Function
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.blocks import Blocks
from gdb_etm.program.image import Program
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.elements import Event, Exception_, ExceptionReturn, Gap, GapReason, Range
from gdb_etm.protocols.recorder import Leg, Recorder, RunTable

NOP = b"\x00\xbf"
BL = b"\x00\xf0\x00\xf8"
BX_LR = b"\x70\x47"
BX_R3 = b"\x18\x47"
BLX_R3 = b"\x98\x47"
POP_PC = b"\x10\xbd"
TBB = b"\xdf\xe8\x03\xf0"
B = b"\x00\xe0"

# Where the handler is that switches threads.
HANDLER = 0x700
MSR_PSP = b"\x80\xf3\x09\x88"
# push {r4-r7, lr}; str sp, [r1, #8]; ldr sp, [r0, #8]; pop {r4-r7, pc}
SWITCH = bytes.fromhex("f0b5c1f808d0d0f808d0f0bd")

GAP = Gap(0, GapReason.OVERFLOW, "")


class Path:
    """A program that is laid out and run step by step."""

    def __init__(self, functions: Dict[str, Tuple[int, int]]) -> None:
        self.functions = [Function(name, start, end) for name, (start, end) in functions.items()]
        self._code: Dict[int, bytes] = {}
        self._legs: Dict[Range, Leg] = {}
        self._recorder = Recorder(RunTable(), lambda position: position)
        self._core: Optional[Core] = None

    def of(self, core: str) -> "Path":
        """Say which core runs it."""
        self._core = Core("CORE_0", core, {})
        return self

    def run(self, start: int, nops: int, last: bytes = b"", taken: bool = True) -> "Path":
        """Run NOPs from ``start``, then ``last``, which branches if ``taken``."""
        return self.code(start, nops + (1 if last else 0), NOP * nops + last, bool(last) and taken)

    def code(self, start: int, count: int, code: bytes, taken: bool = False) -> "Path":
        """Run some instructions, the last of which branches if ``taken``."""
        self._code.update({start + at: code[at : at + 1] for at in range(len(code))})
        executed = Range(start, start + len(code), count, Isa.T32, taken)
        # As decoders do: one object for what is the same.
        self._recorder.add(self._legs.setdefault(executed, Leg((executed,))), 0)
        return self

    def event(self, event: Event) -> "Path":
        """Let something happen."""
        self._recorder.event(event)
        return self

    def again(self, times: int) -> "Path":
        """Run all of it again; without what happened."""
        for order in [list(self._recorder.order)] * times:
            self._recorder.extend(order, 0, len(order))
        return self

    def take(self, name: str, vector: Optional[int], return_address: int) -> "Path":
        """Take an exception."""
        return self.event(Exception_(0, vector or 0x18, name, vector, return_address))

    def switch(self, left: int, start: int) -> "Path":
        """Run a handler that sets PSP, and returns elsewhere.

        :param left: Where it interrupts.
        :param start: Where execution goes on.
        """
        self.take("PendSV", 14, left).run(HANDLER, 1, MSR_PSP).run(HANDLER + 6, 1, BX_LR)
        return self.event(ExceptionReturn(0)).run(start, 1)

    def history(self) -> Tuple[ExecutionHistory, Program]:
        """Give the history and the program."""
        images = [MemoryImage(address, code, "path") for address, code in sorted(self._code.items())]
        program = Program(images)
        source = TraceSource("ETM_0", "etmv4", {}, self._core, tuple(images))
        return ExecutionHistory(self._recorder, source, Blocks(program), BufferEnd.STARTED), program

    def resolve(self, address: int) -> Optional[Function]:
        """Find a function."""
        return next((one for one in self.functions if one.start <= address < one.end), None)

    def calls(self) -> CallHistory:
        """Give the call history."""
        history, program = self.history()
        exits = Exits(program)
        calls = call_history(history, self.resolve, exits)
        indexed = call_history(history, self.resolve, exits, memory=StepMemory(self.resolve, exits))
        assert list(indexed.entries(1, max(1, len(indexed)))) == list(calls.entries(1, max(1, len(calls))))
        return calls

    def entries(self) -> List[Entry]:
        """Give all its entries."""
        calls = self.calls()
        return list(calls.entries(1, max(1, len(calls))))

    def outline(self) -> List[Union[str, Tuple[int, str]]]:
        """Give the call history as (level, name), ``"gap"`` and ``"1 to 2"``."""
        result: List[Union[str, Tuple[int, str]]] = []
        for entry in self.entries():
            if isinstance(entry, Segment):
                result.append((entry.level, entry.function.name if entry.function else "?"))
            elif isinstance(entry, ThreadSwitch):
                result.append("%d to %d" % (entry.before, entry.thread))
            elif isinstance(entry.event, Gap):
                result.append("gap")
            else:
                result.append((entry.level, "<%s>" % entry.event.name))
        return result
