"""Outcomes of conditional instructions: results matched to instructions that ran.

The trace says only that some conditional instruction ran, and the result of its condition.  Which instruction it was
is found by the unit's own rules: C elements come in the order of the instructions, and an F element starts both anew.
Where either side has a hole, nothing is matched until the next F element.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), 2.6.2 and appendices
F.3 and F.4.
"""

from __future__ import annotations

from enum import Enum
from typing import Dict, Final, List, NamedTuple, Optional, Tuple

from gdb_etm.program.accesses import accesses
from gdb_etm.program.blocks import Blocks
from gdb_etm.program.conditions import (
    ALWAYS,
    FLAGS_NEEDED,
    condition,
    enters_it_block,
    holds,
    next_it_state,
    sets_flags,
)
from gdb_etm.program.isa import InstructionKind, Isa, is_wide
from gdb_etm.protocols.elements import Event, Exception_, ExceptionReturn, Gap, Range
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.results import UNRESOLVED, Flush, ResultQueue
from gdb_etm.protocols.recorder import Outcomes, Recorder

_ALL: Final = 7
# An IT instruction lies at most three 32-bit instructions before the last one of its block.
_IT_REACH: Final = 14


class RelevantInstruction(NamedTuple):
    """An instruction of a range that matters to the results."""

    # Position of the instruction in its range, from 0.
    number: int
    # Its condition code, ALWAYS when it has no C element.
    condition: int
    sets_flags: bool


class _RangeScan(NamedTuple):
    relevant: Tuple[RelevantInstruction, ...]
    # ITSTATE after the last instruction.
    it_state: int


class Conditions:
    """Finds the conditional and flag-setting instructions of ranges.

    :param blocks: Blocks of the program.
    :param config: The unit's configuration.
    """

    def __init__(self, blocks: Blocks, config: Etmv4Config) -> None:
        self._blocks = blocks
        self._branches = {InstructionKind.DIRECT, InstructionKind.INDIRECT}
        self._branches.update((InstructionKind.WAIT,) if config.waits else ())
        self._branches.update((InstructionKind.FUTURE,) if config.futures else ())
        self._flags = config.condition_flags
        self._scans: Dict[Tuple[int, int, Isa, int, int], _RangeScan] = {}
        # ITSTATE by address, of instructions in IT blocks that were scanned from their IT on.
        self._it_states: Dict[int, int] = {}

    def scan(self, executed: Range, it_state: int, selection: int) -> _RangeScan:
        """Go through a range.

        :param it_state: ITSTATE at its first instruction.
        :param selection: Which conditional instructions have C elements, as TRCCONFIGR.COND.
        """
        key = (executed.start, executed.end, executed.isa, it_state, selection)
        scan = self._scans.get(key)
        if scan is None:
            scan = self._scans[key] = self._go(executed, it_state, selection)
        return scan

    def it_state(self, address: int) -> Optional[int]:
        """Find ITSTATE at a T32 instruction; None when unknown.

        It is a property of the code, as no branch may go into an IT block: known when the block was scanned once,
        or when there is no IT before the address that could reach it.
        """
        known = self._it_states.get(address)
        if known is not None:
            return known
        before = self._blocks.program.read(address - _IT_REACH, _IT_REACH)
        if len(before) < _IT_REACH:
            return None
        for at in range(0, _IT_REACH, 2):
            if enters_it_block(before[at] | before[at + 1] << 8) and _reaches(before, at):
                return None
        return 0

    def _go(self, executed: Range, it_state: int, selection: int) -> _RangeScan:
        steps: List[RelevantInstruction] = []
        addresses = self._blocks.addresses(executed.start, executed.end, executed.isa)
        for index, address in enumerate(addresses):
            code = self._blocks.program.read(address, 4)
            if len(code) < 4:
                code += bytes(4 - len(code))
            if it_state:
                self._it_states[address] = it_state
            step = self._step(index, address, code, executed.isa, it_state, selection)
            if step is not None:
                steps.append(step)
            half = code[0] | code[1] << 8
            if executed.isa is Isa.T32:
                it_state = half & 0xFF if enters_it_block(half) else next_it_state(it_state)
        if it_state:
            self._it_states[executed.end] = it_state
        return _RangeScan(tuple(steps), it_state)

    def _step(
        self, index: int, address: int, code: bytes, isa: Isa, it_state: int, selection: int
    ) -> Optional[RelevantInstruction]:
        sets = self._flags and sets_flags(code, 0, isa, it_state)
        code_of = condition(code, 0, isa, it_state)
        if code_of != ALWAYS:
            insn = self._blocks.instruction(address, isa)
            if insn is None or insn.kind in self._branches:
                code_of = ALWAYS
            elif selection != _ALL and not accesses(code, 0, isa) & selection:
                code_of = ALWAYS
        return RelevantInstruction(index, code_of, sets) if sets or code_of != ALWAYS else None


def _reaches(before: bytes, at: int) -> bool:
    # Whether the block of the IT at an index comes up to the end of the bytes.
    state = before[at]
    at += 2
    while state and at < len(before):
        at += 4 if is_wide(before[at] | before[at + 1] << 8) else 2
        state = next_it_state(state)
    return bool(state) and at == len(before)


class _Results:
    # The results between two valid F elements, in order.

    def __init__(self, flushes: List[Flush]) -> None:
        self.selection = flushes[0].selection
        self._flushes = flushes
        self._at = self._index = 0

    def pop(self) -> Optional[int]:
        # The next C element's result, UNRESOLVED when it has none; None when it is not known which is next.
        while True:
            flush = self._flushes[self._at]
            if self._index < len(flush.results):
                self._index += 1
                return flush.results[self._index - 1]
            self._at += 1
            if not flush.complete or self._at == len(self._flushes):
                return None
            self._index = 0


class _Way(Enum):
    # How execution came to a range, if not straight from the one before.
    BRANCH = 0
    EXCEPTION = 1
    UNKNOWN = 2


class _Matcher:
    # Goes through the recording and the results side by side.

    def __init__(self, recorder: Recorder, queue: ResultQueue, conditions: Conditions, flags: bool) -> None:
        self._recorder = recorder
        self._conditions = conditions
        self._flags = flags
        self._groups = _groups(queue.flushes)
        self._group = 0
        self._event = 0
        # Nothing is known until the first F element.
        self._results = _Results([Flush(0, False)])
        self._lost = True
        self._markers = self._known = self._values = 0
        # Where the last range ends, and ITSTATE there; how the next one is come to.
        self._end = -1
        self._it_state: Optional[int] = None
        self._way = _Way.UNKNOWN

    def match(self) -> None:
        runs = self._recorder.table.runs
        kept: Dict[Outcomes, Outcomes] = {}
        for entry, number in enumerate(self._recorder.order):
            self._before(entry)
            found: List[Tuple[int, bool]] = []
            first = 0
            for _, executed in runs[number].ranges():
                self._range(executed, first, found)
                first += executed.instructions
            if found:
                outcomes = tuple(found)
                self._recorder.outcomes[entry] = kept.setdefault(outcomes, outcomes)

    def _before(self, entry: int) -> None:
        # Takes the events and the F elements that stand before an entry, in their order.
        events, entries = self._recorder.events, self._recorder.event_entries
        while True:
            if self._group < len(self._groups) and self._is_due(self._groups[self._group][0], entry):
                self._results = _Results(self._groups[self._group])
                self._group += 1
                self._lost = False
                self._markers = 0
            elif self._event < len(events) and entries[self._event] <= entry:
                self._between(events[self._event])
                self._event += 1
            else:
                return

    def _is_due(self, flush: Flush, entry: int) -> bool:
        return flush.entry <= entry and flush.event <= self._event

    def _between(self, event: Event) -> None:
        if isinstance(event, Gap):
            self._lost = True
            self._way = _Way.UNKNOWN
        elif isinstance(event, Exception_):
            self._way = _Way.EXCEPTION
            self._markers = 0
        elif isinstance(event, ExceptionReturn):
            # The flags are restored: a return is an instruction that updates them (F.4).
            self._way = _Way.UNKNOWN
            self._markers = 0

    def _range(self, executed: Range, first: int, found: List[Tuple[int, bool]]) -> None:
        it_state = self._arrive(executed.start) if executed.isa is Isa.T32 else 0
        self._way = _Way.BRANCH
        self._end = executed.end
        if it_state is None:
            # Which of the next instructions are conditional is unknown, and so which result is whose.
            self._it_state = None
            self._lost = True
            return
        scan = self._conditions.scan(executed, it_state, self._results.selection)
        self._it_state = scan.it_state
        for step in scan.relevant:
            if self._lost:
                return
            if step.condition != ALWAYS:
                passed = self._conditional(step.condition)
                if passed is not None:
                    found.append((first + step.number, passed))
            if step.sets_flags:
                self._markers = 0

    def _arrive(self, address: int) -> Optional[int]:
        # ITSTATE at the first instruction of a range.  A branch and the entry to an exception leave no IT block open;
        # an exception of the implementation's own may go on where it was.
        if address != self._end and self._way is not _Way.UNKNOWN:
            return 0
        if self._way is _Way.BRANCH and self._it_state is not None:
            return self._it_state
        return self._conditions.it_state(address)

    def _conditional(self, code: int) -> Optional[bool]:
        # Whether a conditional instruction passed; None when that is not known.
        if not self._flags:
            result = self._pop()
            return bool(result) if result is not None and result != UNRESOLVED else None
        # A result has correct values only of those flags that no earlier one had.
        needed = FLAGS_NEEDED[code]
        fresh = needed & ~self._markers
        if fresh:
            self._markers |= needed
            result = self._pop()
            if result is None or result == UNRESOLVED:
                self._known &= ~fresh
            else:
                self._known |= fresh
                self._values = self._values & ~fresh | result & fresh
        return holds(code, self._values) if not needed & ~self._known and not self._lost else None

    def _pop(self) -> Optional[int]:
        result = self._results.pop()
        if result is None:
            self._lost = True
        return result


def _groups(flushes: List[Flush]) -> List[List[Flush]]:
    # The F elements that count, each with those after it that a Cancel took back: they leave their C elements to it
    # (Table 5-9).  After one that never became certain there is nothing to match.
    groups: List[List[Flush]] = []
    certain = False
    for flush in flushes:
        if flush.entry >= 0:
            groups.append([flush])
            certain = True
        elif flush.cancelled and certain:
            groups[-1].append(flush)
        else:
            certain = False
    return groups


def match_conditions(recorder: Recorder, queue: ResultQueue, blocks: Blocks, config: Etmv4Config) -> None:
    """Record which executed conditional instructions passed their condition.

    :param recorder: The whole recording of a stream, each P0 element an entry of its own; takes the outcomes.
    :param queue: The conditional elements of the stream.
    :param blocks: Blocks of the program that it was decoded with.
    :param config: The unit's configuration.
    """
    _Matcher(recorder, queue, Conditions(blocks, config), config.condition_flags).match()
