"""What was executed, as values for scripts."""

from __future__ import annotations

from enum import Enum
from typing import Callable, ContextManager, Dict, Iterator, List, NamedTuple, Optional, Tuple, Union

from gdb_etm.api.explainer import Explainer
from gdb_etm.api.measures import Measures
from gdb_etm.capture import BufferEnd
from gdb_etm.errors import CommandError
from gdb_etm.history import store
from gdb_etm.history.calls import Break, Entry, Interrupt, ThreadSwitch
from gdb_etm.history.clock import Timed, TraceTime
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.elements import DataGap, Event
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.values import Finding, Step, Value, Written
from gdb_etm.session.chains import Chain
from gdb_etm.session.debugger import Debugger
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.faults import Fault
from gdb_etm.session.register_names import CORE, register_name
from gdb_etm.views.text import exception_text, gap_text


class CallKind(Enum):
    """What an entry of :meth:`History.functions` is."""

    # Instructions that ran one after the other in one activation of a function.
    FUNCTION = "function"
    # An exception was taken (IHI 0064, 5.2.7).
    EXCEPTION = "exception"
    # What ran here is not known.
    GAP = "gap"
    # Another thread goes on.
    SWITCH = "switch"


class Call(NamedTuple):
    """One entry of the call history, a line of ``etm functions``."""

    # Whether it is a function, or what else.
    kind: CallKind
    # The function's name, or ``"0x..."`` where no symbol is known; of an exception or a gap what it is; of a switch the
    # names of both threads.
    name: str
    # Call depth in its thread; the outermost has 0, and it starts at 0 again after a gap that hides the depth.
    level: int
    # Number of its first instruction; of what is no function, of the instruction after it.
    first: int
    # Number of its last instruction; of what is no function, of the instruction before it.
    last: int


class Thread(NamedTuple):
    """A thread: what ran on one stack, without handlers."""

    # From 1, in the order in which they first ran.
    number: int
    # The kernel's, inside GDB and where the target's memory at the halt tells it; else that of its outermost function.
    name: str
    # How many instructions it executed.
    instructions: int
    # Number of its first instruction.
    first: int
    # Number of its last instruction.
    last: int
    # Address of the kernel's control block of it; None when that is not known.
    block: Optional[int]
    # Numbers of threads that run the same code: some of what is given as its may be theirs.
    alike: Tuple[int, ...]
    # Names of the kernel's other threads that may have run some of it.
    rivals: Tuple[str, ...]


class Instruction(NamedTuple):
    """One executed instruction."""

    # From 1, oldest first.
    number: int
    # Byte address, without the T32 bit.
    address: int
    # 2 or 4 bytes.
    size: int
    # The instruction set it was executed in: T32, A32 or A64.
    isa: Isa
    # Name of the function it is in; empty when unknown.
    function: str
    # Whether its condition held; None when it is not conditional, a branch, or the trace does not tell.
    passed: Optional[bool]


class History:
    """One core's executed instructions, numbered from 1, oldest first.

    Made by :meth:`Capture.history`.

    :param decoded: The decoded trace.
    :param debugger: Finds symbols and lines, and writes instructions as text.
    :param recover: Works registers and memory out.
    :param explanations: Explains a fault, and where values came from.
    :param measures: Measures it.
    """

    def __init__(
        self,
        decoded: Decoded,
        debugger: Debugger,
        recover: Callable[[int], ContextManager[Recovery]],
        explanations: Explainer,
        measures: Measures,
    ) -> None:
        self._decoded = decoded
        self._debugger = debugger
        self._recover = recover
        self._explanations = explanations
        # Calls with their costs, latencies, coverage, depth of stack, and what the history does not hold.
        self.measures = measures
        self._names: Dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._decoded.history)

    def __repr__(self) -> str:
        return "<History: %d instructions of %s>" % (len(self), self.source)

    @property
    def source(self) -> str:
        """Name of the trace unit and its core, as ``"ETM_0 (cpu_0)"``."""
        source = self._decoded.history.source
        return source.name if source.core is None else "%s (%s)" % (source.name, source.core.name)

    @property
    def beginning(self) -> BufferEnd:
        """Why the oldest instruction is the oldest."""
        return self._decoded.history.end_reason

    def instruction(self, number: int) -> Instruction:
        """Give one instruction.

        :param number: 1 for the oldest up to the length of the history.
        :raises CommandError: There is no such instruction.
        """
        return next(self.instructions(number, number))

    def instructions(self, first: int = 1, last: Optional[int] = None) -> Iterator[Instruction]:
        """Go through instructions, oldest first.

        :param first: Number of the first; a negative one counts from the end, -1 is the newest.
        :param last: Number of the last, which is included; None: up to the newest.
        :raises CommandError: There are no such instructions.
        """
        begin, end = _limits(first, last, len(self), "instruction")
        history = self._decoded.history
        for item in history.walk(begin, end):
            if isinstance(item, store.TracedInstruction):
                passed = history.outcome(item.number)
                yield Instruction(*item, self.function_at(item.address), passed)

    def functions(self, first: int = 1, last: Optional[int] = None) -> Iterator[Call]:
        """Iterate over the call history, as ``etm functions`` lists it.

        :param first: Number of the first entry; a negative one counts from the end.  Gaps have no number: those
            directly before and after the entries come with them.
        :param last: Number of the last entry, which is included; None: up to the newest.
        :raises CommandError: There are no such entries.
        """
        calls = self._decoded.calls(self._debugger.function_at)
        begin, end = _limits(first, last, len(calls), "function")
        for entry in calls.entries(begin, end):
            yield self._call(entry)

    def threads(self) -> List[Thread]:
        """List the threads that ran, as ``etm threads`` does."""
        found = self._decoded.threads(self._debugger).threads
        return [
            Thread(own.number, name, own.instructions, own.first, own.last, block, own.alike, rivals)
            for own, name, block, rivals in found
        ]

    def thread_at(self, number: int) -> Optional[Thread]:
        """Give the thread of an instruction, or the one that is interrupted.

        :param number: Of the instruction; a negative one counts from the end, -1 is the newest.
        :raises CommandError: There is no such instruction.
        """
        number, _ = _limits(number, number, len(self), "instruction")
        found = self._decoded.threads(self._debugger).at(number)
        return None if found is None else self.threads()[found.thread.number - 1]

    @property
    def marks(self) -> Dict[int, str]:
        """Meanings of the trace unit's event numbers, in words of ``etm on``.

        Only those that are known.
        """
        return dict(self._decoded.history.source.marks)

    def events(self) -> List[Tuple[int, Event]]:
        """List the events: exceptions, returns, contexts, times, trace events and gaps.

        :returns: The number of the instruction before each, 0 when there is none, and the event: a value of
            :mod:`gdb_etm.protocols.elements`, whose ``offset`` is that of its packet in the buffer, in bytes
            (IHI 0064, chapter 5).
        """
        history = self._decoded.history
        return [(history.number_at(index), event) for index, event in enumerate(history.events)]

    def transfers(self) -> List[Union[store.OwnedTransfer, DataGap]]:
        """List the traced loads and stores in order, with their gaps.

        :returns: Each with the number of its instruction or with the exception that made it; empty where none were
            traced (``configure(data="both")``; IHI 0064, 5.4).
        """
        return [item for _, item in self._decoded.history.data_elements()]

    def times(self, first: int = 1, last: Optional[int] = None) -> Iterator[Tuple[int, TraceTime]]:
        """Iterate over the instructions' cycle counts and timestamps, where traced.

        :param first: Number of the first instruction; a negative one counts from the end.
        :param last: Number of the last, which is included; None: up to the newest.
        :returns: The instruction's number, and its cycles (of the processor) and timestamp (ticks of the chip's
            timestamp generator), each None when not traced: ``configure(cycles=..., timestamps=True)``
            (IHI 0064, 5.2.14 and 5.2.16).
        :raises CommandError: There are no such instructions.
        """
        begin, end = _limits(first, last, len(self), "instruction")
        timed: Iterator[Timed] = self._decoded.clock.timed(self._decoded.history.walk(begin, end), begin)
        for item, time in timed:
            if isinstance(item, store.TracedInstruction) and time is not None:
                yield item.number, time

    def function_at(self, address: int) -> str:
        """Name the function that holds an address.

        :param address: In bytes, in the core's memory.
        :returns: Its name; empty when unknown.
        """
        if address not in self._names:
            function = self._debugger.function_at(address)
            self._names[address] = function.name if function is not None else ""
        return self._names[address]

    def line_at(self, address: int) -> str:
        """Name the source line of an instruction.

        :param address: In bytes, in the core's memory.
        :returns: ``"rx.c:121"``; empty when unknown.
        """
        line = self._debugger.line_at(address)
        return "" if line is None else "%s:%d" % (line.path, line.line)

    def text(self, instruction: Instruction) -> str:
        """Write an instruction in assembler.

        :param instruction: One of this history's.
        :returns: Mnemonic, a tab, operands.
        """
        code = self._decoded.program.read(instruction.address, instruction.size)
        return self._debugger.disassemble(instruction.address, code, instruction.isa)

    def registers(self, number: int) -> Dict[str, Value]:
        """Recover the core's registers before an instruction.

        They are r0 to r12, sp, lr, pc and xpsr.

        What is not known has the value None, and the tier :attr:`Tier.UNKNOWN`; the session's setting ``recovery`` says
        how far to go, ``recovery-limit`` how far back, and ``volatile`` which memory others write.

        :param number: The instruction's; one more than the length of the history is the end.
        :raises CommandError: There is no such instruction, or the setting is off.
        """
        with self._recovered(number) as recovery:
            return {name: recovery.register(number, name) for name in CORE}

    def memory(self, number: int, address: int, size: int) -> Tuple[Value, ...]:
        """Give the bytes of memory before an instruction, one value for each.

        :param number: The instruction's; one more than the length of the history is the end.
        :param address: Of the first byte, in the core's memory.
        :param size: In bytes.
        :raises CommandError: There is no such instruction, or the setting is off.
        """
        with self._recovered(number) as recovery:
            return recovery.memory(number, address, size)

    def why(self, number: int, register: str) -> List[Step]:
        """List the facts that a register's value rests on, nearest first.

        :param number: The instruction before which it had that value.
        :param register: Such as ``"r3"``, ``"sp"`` or ``"xpsr"``.
        :raises CommandError: There is no such instruction or register, or the setting is off.
        """
        name = register_name(register)
        with self._recovered(number) as recovery:
            return recovery.why(number, name)

    def writes(self, address: int, size: int) -> Written:
        """List the stores that wrote a piece of memory, newest first.

        Stores that may have written it are counted.

        :param address: Of the first byte, in the core's memory.
        :param size: In bytes.
        :raises CommandError: There are no instructions, or the setting is off.
        """
        with self._recovered(len(self) + 1) as recovery:
            return recovery.writes(address, size)

    def fault(self) -> Fault:
        """Say why the program went wrong, as ``etm fault`` does.

        :raises CommandError: Nothing went wrong at the end, it is no M-profile core, or the setting is off.
        """
        return self._explanations.fault()

    def origin(self, what: str, number: Optional[int] = None, addresses: bool = False) -> Chain:
        """Tell where a value came from, as ``etm origin`` does.

        :param what: A register, ``"ADDRESS,SIZE"``, or a variable.
        :param number: The instruction before which it is asked about; None: the end, or the fault there.
        :param addresses: Whether to tell, too, where the addresses of its loads and stores came from.
        :raises CommandError: There is no such instruction or value, or the setting is off.
        """
        return self._explanations.origin(what, len(self) + 1 if number is None else number, addresses)

    def uses(self, what: str, number: int) -> Chain:
        """Tell what was made of a value, as ``etm uses`` does.

        :param what: A register, ``"ADDRESS,SIZE"``, or a variable.
        :param number: The instruction before which it is asked about.
        :raises CommandError: There is no such instruction or value, or the setting is off.
        """
        return self._explanations.uses(what, number)

    @property
    def findings(self) -> Tuple[Finding, ...]:
        """Assumptions that did not hold, among the values asked for so far."""
        found = self._decoded.recovered
        return found.recovery.findings if found is not None else ()

    def _recovered(self, number: int) -> ContextManager[Recovery]:
        if not 1 <= number <= len(self) + 1:
            raise CommandError("no instruction %d; there are %d" % (number, len(self)))
        return self._recover(number)

    def _call(self, entry: Entry) -> Call:
        if isinstance(entry, Break):
            return Call(CallKind.GAP, gap_text(entry.event), entry.level, entry.after + 1, entry.after)
        if isinstance(entry, Interrupt):
            return Call(CallKind.EXCEPTION, exception_text(entry.event), entry.level, entry.after + 1, entry.after)
        if isinstance(entry, ThreadSwitch):
            name = self._decoded.threads(self._debugger).switch(entry)
            return Call(CallKind.SWITCH, name, entry.level, entry.after + 1, entry.after)
        name = entry.function.name if entry.function is not None else "0x%08x" % entry.address
        return Call(CallKind.FUNCTION, name, entry.level, entry.first, entry.last)


def _limits(first: int, last: Optional[int], length: int, what: str) -> Tuple[int, int]:
    begin = first + length + 1 if first < 0 else first
    end = length if last is None else last + length + 1 if last < 0 else last
    if length == 0 and first == 1 and last is None:
        return 1, 0
    if not 1 <= begin <= length or not begin <= end <= length:
        raise CommandError("no %ss %d to %s; there are %d" % (what, first, "the end" if last is None else last, length))
    return begin, end
