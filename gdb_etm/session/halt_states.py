"""States of the core at the ends of a trace, for recovery.

One is read at the halt, one before the run began.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.capture import Beginning, BufferEnd, MemoryImage, RawCapture
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.isa import InstructionKind, Isa
from gdb_etm.protocols.elements import DEBUG_HALT, Exception_, Gap, GapReason
from gdb_etm.protocols.mtb.config import MtbConfig
from gdb_etm.protocols.profile import is_m_profile
from gdb_etm.recovery.lift.operations import SLOTS, SP
from gdb_etm.recovery.lift.template import Template, Templates
from gdb_etm.recovery.rules import DEVICES
from gdb_etm.recovery.values import CoreState, HaltedState
from gdb_etm.session.anchor import Anchor, TargetMemory, ram_in_use
from gdb_etm.session.debugger import Debugger
from gdb_etm.traceunit.options import TraceOptions

if TYPE_CHECKING:
    from gdb_etm.traceunit.session import TraceSession  # with what it takes to reach hardware

_WORD = 4
# Instructions of the black box before the unit stops, at most.
_MOST_TAIL = 32
# Offsets of the vectors for faults on A-profile, whose table has 32 bytes (DDI 0406C, table B1-3); and LDR of the PC
# from a literal behind it, as such tables have it.
_VECTORS = {"Undefined Instruction": 0x04, "Prefetch abort": 0x0C, "Data abort": 0x10, "Asynchronous data abort": 0x10}
_TABLE, _LDR_PC = 0x1F, 0xE59FF000
_ALL = TraceOptions()
# The options that leave something out.
_FILTERS = (
    "include",
    "exclude",
    "start_at",
    "stop_at",
    "exceptions",
    "secure",
    "nonsecure",
    "levels",
    "contexts",
    "rules",
    "q_elements",
)


Special = Callable[[Mapping[str, int]], Mapping[str, int]]


class Anchors:
    """Takes anchors as the core halts and runs on.

    :param debugger: Reads registers.
    :param memory: Reads memory, whoever asks.
    :param special: Reads registers that the debugger does not give, those besides what it is given.
    """

    def __init__(self, debugger: Debugger, memory: TargetMemory, special: Special = lambda known: {}) -> None:
        self._debugger = debugger
        self._memory = memory
        self._special = special
        # Of the present halt; None while the core runs.
        self.halt: Optional[Anchor] = None
        # At the beginning of the run that is in the trace buffer.
        self._begin: Optional[Anchor] = None
        # Whether the core has run since the buffer was emptied.
        self._ran = True
        # Whether the user has changed nothing of the core since it ran for the first time into an empty buffer.
        self.is_untouched = True
        # The same of the time from when the buffer was emptied until then.
        self.was_left_alone = True

    def on_halt(self) -> None:
        """Note a halt."""
        self._ran = True
        registers = self._registers()
        self.halt = Anchor(registers, self._memory) if registers else None

    def _registers(self) -> Dict[str, int]:
        registers = dict(self._debugger.registers())
        return {**self._special(registers), **registers} if registers else {}

    def emptied(self) -> None:
        """Note that the trace buffer is empty and tracing is on."""
        self._begin = None
        self._ran = self._debugger.is_running()
        self.is_untouched = self.was_left_alone = True

    def on_resume(self, is_tracing: bool, images: Optional[Sequence[MemoryImage]]) -> None:
        """Note that the core is about to run.

        :param images: The program, if the RAM that it uses is to be read before.
        """
        registers = self._registers() if is_tracing and not self._ran else {}
        begin = Anchor(registers, self._memory) if registers else None
        for anchor in (begin, self.halt):
            if anchor is not None and images is not None:
                anchor.keep(ram_in_use(images, anchor.registers))
            if anchor is not None:
                anchor.leave()
        if not self._ran:
            self._begin = begin
        self._ran = True
        self.halt = None

    def touched(self) -> None:
        """Note that the user has changed something."""
        if self._ran:
            self.is_untouched = False
        else:
            self.was_left_alone = False

    def changed(self, address: int, size: int) -> None:
        """Note a write to memory through the debugger."""
        if not any(first <= address < end for first, end in DEVICES):
            self.touched()
        if self.halt is not None:
            self.halt.change(address, size)

    def take_begin(self) -> Optional[Anchor]:
        """Take the state from before the run, if the trace covers it.

        It is given once.

        So an error with the buffer leaves no state that later trace could be combined with.
        """
        begin, self._begin = self._begin, None
        return begin


class Anchored(NamedTuple):
    """What is known of the ends of a capture's trace."""

    # At the beginning of the traced run.
    begin: Optional[Anchor] = None
    # At the halt.
    end: Optional[Anchor] = None
    # Whether the trace unit was programmed to trace everything.
    is_whole: bool = False
    # Whether the debugger changed nothing while the core was halted in between.
    is_untouched: bool = False
    # Where it may have all the same: instructions from and to which, at halts after them.
    touched: Tuple[Tuple[int, int], ...] = ()
    # Halts in between, each after an instruction: where the core halted, and where it ran on.
    halts: Tuple[Tuple[int, Optional[Anchor], Optional[Anchor]], ...] = ()

    def before(self, history: ExecutionHistory) -> Optional[CoreState]:
        """Give the state before a history's first instruction.

        None unless the history reaches back to the beginning of the run.
        """
        anchor = self.begin
        if anchor is None or not self.is_whole or not len(history) or history.end_reason is not BufferEnd.STARTED:
            return None
        for before, event in history.interruptions():
            if before:
                break
            if isinstance(event, Gap) and event.reason is not GapReason.TRACE_ON:
                return None
        return anchor.state() if history.instruction(1).address == anchor.pc else None

    def after(self, history: ExecutionHistory) -> Optional[CoreState]:
        """Give the state after a history's last instruction.

        None unless the core was halted directly after it.

        Behind a filter, or where the trace ends before the halt, the core's state says nothing of what was traced.
        Nor does anything follow from that of a core that runs 64-bit code.
        """
        anchor = self.end
        if anchor is None or anchor.pc is None or not len(history):
            return None
        if history.instruction(len(history)).isa is Isa.A64:
            return None
        taken: Optional[Exception_] = None
        for index in range(len(history.events) - 1, -1, -1):
            if history.number_at(index) < len(history):
                break
            event = history.events[index]
            if isinstance(event, Gap):
                return None
            if isinstance(event, Exception_) and event.name == DEBUG_HALT and event.return_address is not None:
                return anchor.state() if event.return_address & ~1 == anchor.pc else None
            if isinstance(event, Exception_) and event.name != DEBUG_HALT and taken is None:
                taken = event
        following = _successors(history, anchor) if taken is None else _handlers(history, taken, anchor.pc)
        if self.is_whole and anchor.pc in following:
            return anchor.state()
        if self._entry(history) is None:
            return None
        # What its first instructions change is known from where it begins; status and other modes' registers are not.
        last, state = history.instruction(len(history)), anchor.state()
        kept = {name: value for name, value in state.registers.items() if name == "cpsr" or "_" in name}
        return state._replace(registers={**kept, "pc": last.address + last.size})

    def entered(self, history: ExecutionHistory) -> Tuple[HaltedState, ...]:
        """Give the state that a fault's handler began with.

        Only of one whose first instructions are the last that were traced.
        """
        number = self._entry(history)
        if number is None or self.end is None:
            return ()
        return (HaltedState(number - 1, self.end.state(), None),)

    def _entry(self, history: ExecutionHistory) -> Optional[int]:
        # The black box keeps the registers of an A-profile core before it stops the unit, some instructions on.
        last, anchor = len(history), self.end
        if anchor is None or not self.is_whole or is_m_profile(history.source.core):
            return None
        following: Optional[int] = None
        for number in range(last, max(last - _MOST_TAIL, 0), -1):
            one = history.instruction(number)
            if following is not None and one.address + one.size != following:
                return None
            if one.address == anchor.pc:
                return number
            following = one.address
        return None


def with_ends(capture: RawCapture, begin: Optional[Anchor], end: Optional[Anchor]) -> RawCapture:
    """Give a Micro Trace Buffer's capture the states that its decoder needs.

    Its trace holds neither where it began nor where it ended, and names no exceptions: their table may be in RAM.
    """
    source = capture.sources[0]
    if source.protocol != "mtb":
        return capture
    if end is not None:
        config = MtbConfig.from_source(source)
        if config.vtor is not None:
            end.keep([(config.vtor, config.vtor + 4 * config.vectors)])
    return with_anchored(capture, Anchored(begin, end))


def leaves_nothing_out(trace: Optional[TraceSession]) -> bool:
    """Check whether a trace unit was programmed to trace everything."""
    options = trace.options if trace is not None else None
    if trace is None or options is None or trace.by_hand.names:
        return False
    return all(getattr(options, name) == getattr(_ALL, name) for name in _FILTERS)


def _handlers(history: ExecutionHistory, taken: Exception_, pc: int) -> Tuple[int, ...]:
    # Where an exception may lead: on M-profile by what is at its place if a piece of the program is a vector table.
    if not is_m_profile(history.source.core):
        offset = _VECTORS.get(taken.name)
        return (pc,) if offset is not None and pc & _TABLE == offset else ()
    if taken.vector is None:
        return ()
    at = 4 * taken.vector
    words = [int.from_bytes(data[at : at + 4], "little") for _, data in history.program.pieces if len(data) >= at + 4]
    return tuple(word & ~1 for word in words if word & 1)


def _successors(history: ExecutionHistory, anchor: Anchor) -> Tuple[int, ...]:
    # Where the last instruction may lead, as far as it says so itself, or what it has branched to is still there.
    last = history.instruction(len(history))
    template = Templates(history.program, is_m_profile(history.source.core)).at(last.address, last.isa)
    code = int.from_bytes(history.program.read(last.address, _WORD), "little")
    if last.isa is Isa.A32 and code & ~0xFFF == _LDR_PC:
        word = history.program.read(last.address + 8 + (code & 0xFFF), _WORD)
        return (int.from_bytes(word, "little") & ~1,) if len(word) == _WORD else ()
    if template is None or template.target is not None:
        return _branched(template, anchor) if template is not None else ()
    following = last.address + template.size
    return (template.goes_to, following) if template.kind is InstructionKind.DIRECT else (following,)


def _branched(template: Template, anchor: Anchor) -> Tuple[int, ...]:
    # A branch to a register leaves it as it was; what was popped last is just below SP.
    slot = template.target
    value = next((anchor.registers.get(name) for name, number in SLOTS.items() if number == slot), None)
    stack = anchor.registers.get("sp")
    if slot in template.writes:
        value = None
    elif value is None and SP in template.writes and stack is not None:
        word = anchor.read(stack - _WORD, _WORD)
        value = int.from_bytes(word, "little") if word is not None and len(word) == _WORD else None
    return () if value is None else (value & ~1,)


def anchored_of(capture: RawCapture) -> Anchored:
    """Give what a capture holds of the ends of its trace."""
    cores = [source.core for source in capture.sources if source.core is not None]
    ends = [Anchor(core.registers, images=core.memory) for core in cores if core.registers]
    begins = [core.begin for core in cores if core.begin is not None]
    begin = Anchor(begins[0].registers, images=begins[0].memory) if begins else None
    return Anchored(begin, ends[0] if ends else None, capture.is_whole, capture.is_untouched)


def with_anchored(capture: RawCapture, anchored: Anchored) -> RawCapture:
    """Store the states at the ends of a trace in its capture.

    Only memory that was read is stored.
    """
    begin, end = anchored.begin, anchored.end
    sources = []
    for source in capture.sources:
        core = source.core
        if core is not None and end is not None:
            core = core._replace(registers=end.registers, memory=end.images)
        if core is not None and begin is not None:
            core = core._replace(begin=Beginning(begin.registers, begin.images))
        sources.append(source._replace(core=core))
    return capture._replace(sources=tuple(sources), is_whole=anchored.is_whole, is_untouched=anchored.is_untouched)
