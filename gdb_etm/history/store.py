"""The executed instructions of one core, numbered from 1, oldest first.

Runs stay in columns as the decoder left them; an instruction becomes an object only when somebody looks
at it, and going to instruction N is a binary search.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

from gdb_etm.capture import BufferEnd, TraceSource
from gdb_etm.history.events import events_of
from gdb_etm.history.placed import PlacedItems
from gdb_etm.history.sums import EntrySums
from gdb_etm.program.blocks import Blocks
from gdb_etm.program.image import Program
from gdb_etm.program.isa import InstructionKind, Isa
from gdb_etm.protocols.elements import DataGap, Event, Exception_, Range, Transfer, breaks
from gdb_etm.protocols.recorder import Recorder, Run
from gdb_etm.protocols.registry import PROTOCOLS


class TracedInstruction(NamedTuple):
    """One executed instruction."""

    # Its number in the history, from 1.
    number: int
    address: int
    # 2 or 4 bytes.
    size: int
    isa: Isa


class Span(NamedTuple):
    """Executed instructions in address order, and the number of the first."""

    number: int
    range: Range


class OwnedTransfer(NamedTuple):
    """A load or store with what made it."""

    transfer: Transfer
    # The instruction's number; None when an exception's entry or return made it.
    number: Optional[int]
    # That entry or return.
    event: Optional[Event]


class ConditionResult(NamedTuple):
    """What a conditional instruction that is no branch did."""

    # The instruction's.
    number: int
    passed: bool


class ExecutionHistory:
    """What one trace stream says was executed.

    :param recorder: The decoder's recording.
    :param source: The unit that produced the stream.
    :param blocks: Blocks of the program that it was decoded with.
    :param end_reason: Why the oldest instruction is the oldest.
    :param before: The history of the same recording before it grew.
    """

    def __init__(
        self,
        recorder: Recorder,
        source: TraceSource,
        blocks: Blocks,
        end_reason: BufferEnd,
        before: Optional[ExecutionHistory] = None,
    ) -> None:
        self.source = source
        self.end_reason = end_reason
        self._recorder = recorder
        self._runs: List[Run] = recorder.table.runs
        self._order = recorder.order
        self._outcomes = recorder.outcomes
        self._transfers = recorder.transfers
        # How many loads and stores the data stream holds; None where no data stream was decoded.
        self.data_counts = recorder.data_counts
        self._event_transfers = {recorder.events[at]: found for at, found in recorder.event_transfers.items()}
        self._blocks = blocks
        reader = PROTOCOLS.get(source.protocol)
        self._failures_end_ranges = reader is not None and reader.failures_end_ranges
        self._sums = EntrySums(self._order, self._runs, before.sums if before is not None else None)
        self._numbered: Optional[List[Tuple[int, Event]]] = None

    def __len__(self) -> int:
        return self._sums.instructions

    @property
    def sums(self) -> EntrySums:
        """How many instructions ran before each entry."""
        return self._sums

    @property
    def program(self) -> Program:
        """The program that ran."""
        return self._blocks.program

    @property
    def blocks(self) -> Blocks:
        """The program's blocks, as they were decoded."""
        return self._blocks

    @property
    def recorder(self) -> Recorder:
        """The recording that it is made of."""
        return self._recorder

    @property
    def order(self) -> Sequence[int]:
        """Numbers of the runs in execution order: the history's entries."""
        return self._order

    def run(self, number: int) -> Run:
        """Give a run by its number."""
        return self._runs[number]

    def entry(self, number: int) -> Tuple[int, int]:
        """Find an instruction's entry of :attr:`order`, and that entry's first instruction.

        :param number: Of the instruction, 1 up to the length of the history.
        """
        return self._sums.find(number)

    def entry_first(self, entry: int) -> int:
        """Give the number of the first instruction of an entry of :attr:`order`."""
        return self._sums.before(entry) + 1

    def addresses(self, executed: Range) -> List[int]:
        """List the addresses of the instructions in an executed range."""
        return self._blocks.addresses(executed.start, executed.end, executed.isa)

    def distinct_ranges(self) -> Set[Range]:
        """Give the executed ranges, each once: programs loop, so they are few."""
        legs = {leg for number in set(self._order) for leg in self._runs[number].all_legs()}
        return {executed for leg in legs for executed in leg.ranges}

    def instruction(self, number: int) -> TracedInstruction:
        """Give one instruction.

        :param number: 1 for the oldest up to the length of the history.
        :raises IndexError: When there is no such instruction.
        """
        if not 1 <= number <= len(self):
            raise IndexError("no instruction %d" % number)
        for item in self.walk(number, number):
            if isinstance(item, TracedInstruction):
                return item
        raise IndexError("no instruction %d" % number)

    def outcome(self, number: int) -> Optional[bool]:
        """Tell whether a conditional instruction that is no branch passed its condition.

        :param number: Of the instruction.
        :returns: None when it is not conditional, or the trace does not say.
        """
        return self.outcomes(number, number).get(number)

    def outcomes(self, first: int, last: int) -> Dict[int, bool]:
        """Give what :meth:`outcome` tells, of these instructions at least."""
        if self._failures_end_ranges:
            return dict.fromkeys(self._failures(first, last), False)
        found: Dict[int, bool] = {}
        if self._outcomes:
            entry, number = self.entry(first)
            while entry < len(self._order) and number <= last:
                found.update((number + place, passed) for place, passed in self._outcomes.get(entry, ()))
                number += self._runs[self._order[entry]].instructions
                entry += 1
        return found

    @property
    def tells_outcomes(self) -> bool:
        """Whether conditional instructions were traced."""
        return self._failures_end_ranges or bool(self._outcomes)

    def conditions(self) -> Iterator[Tuple[int, ConditionResult]]:
        """Go through the outcomes of conditional instructions that the trace holds."""
        for entry in sorted(self._outcomes):
            first = self.entry_first(entry)
            offset = self._recorder.offset_of(next(self._recorder.positions(entry)))
            for place, passed in self._outcomes[entry]:
                yield offset, ConditionResult(first + place, passed)

    def _failures(self, first: int, last: int) -> Iterator[int]:
        # N atoms of instructions that are no branches.
        for item in self.spans(first, last):
            if isinstance(item, Span) and not item.range.taken:
                insn = self._blocks.instruction(self.addresses(item.range)[-1], item.range.isa)
                if insn is not None and insn.kind not in (InstructionKind.DIRECT, InstructionKind.INDIRECT):
                    yield item.number + item.range.instructions - 1

    @property
    def tells_transfers(self) -> bool:
        """Whether loads and stores were traced."""
        return self.data_counts is not None or bool(self._transfers or self._event_transfers)

    def transfers(self, number: int) -> Tuple[Transfer, ...]:
        """List an instruction's traced loads and stores, in trace order.

        :param number: Of the instruction, 1 up to the length of the history.
        """
        if not self._transfers:
            return ()
        entry, _ = self.entry(number)
        return self._transfers.get(entry, ()) if self.entry_first(entry + 1) == number + 1 else ()

    def event_transfers(self, event: Event) -> Tuple[Transfer, ...]:
        """List the traced stack accesses of an exception or a return."""
        return self._event_transfers.get(event, ()) if self._event_transfers else ()

    def data_elements(self) -> List[Tuple[int, Union[OwnedTransfer, DataGap]]]:
        """List the elements of the data stream in order.

        Loads, stores and gaps, with their offsets in the buffer.
        """
        found: List[Tuple[int, Union[OwnedTransfer, DataGap]]] = []
        for entry, made in self._transfers.items():
            number = self.entry_first(entry + 1) - 1
            found += [(one.offset, OwnedTransfer(one, number, None)) for one in made]
        # Nothing of the data stream is within runs.
        for event in self._recorder.events:
            found += [(one.offset, OwnedTransfer(one, None, event)) for one in self.event_transfers(event)]
            if isinstance(event, DataGap):
                found.append((event.offset, event))
        return sorted(found, key=lambda item: item[0])

    def walk(self, first: int, last: int) -> Iterator[Union[TracedInstruction, Event]]:
        """Go through instructions ``first`` to ``last`` and the events around them."""
        for item in self.spans(first, last):
            if not isinstance(item, Span):
                yield item
                continue
            executed = item.range
            addresses = self.addresses(executed) + [executed.end]
            for index in range(len(addresses) - 1):
                address = addresses[index]
                yield TracedInstruction(item.number + index, address, addresses[index + 1] - address, executed.isa)

    def spans(self, first: int, last: int) -> Iterator[Union[Span, Event]]:
        """Go through the ranges of instructions ``first`` to ``last``, cut to these.

        Events directly before, between and after them are included.
        """
        entry, number = self.entry(first - 1) if first > 1 else (0, 1)
        for position, part in self.parts(entry):
            if not isinstance(part, Run):
                if first <= number <= last + 1:
                    yield part
                continue
            if number + part.instructions < first:
                number += part.instructions
                continue
            for distance, item in part.items():
                if not isinstance(item, Range):
                    if first <= number <= last + 1:
                        yield item._replace(offset=self._recorder.offset_of(position + distance))
                    continue
                following = number + item.instructions
                if number > last:
                    return
                if number >= first and following <= last + 1:
                    yield Span(number, item)
                elif following > first <= last:
                    yield self._clip(Span(number, item), first, last)
                number = following

    def _clip(self, span: Span, first: int, last: int) -> Span:
        number, executed = span
        skip = max(0, first - number)
        keep = min(last, number + executed.instructions - 1) - number - skip + 1
        addresses = self.addresses(executed) + [executed.end]
        whole = skip + keep == executed.instructions
        cut = executed._replace(
            start=addresses[skip],
            end=addresses[skip + keep],
            instructions=keep,
            taken=executed.taken if whole else True,
        )
        return Span(number + skip, cut)

    def elements(self) -> Iterator[Tuple[int, Union[Range, Event]]]:
        """Go through all ranges and events, with their offsets in the buffer."""
        placed = PlacedItems(self._recorder.offset_of)
        for position, part in self.parts(0):
            if not isinstance(part, Run):
                yield part.offset, part
            else:
                yield from placed.at(part, position)

    def parts(self, entry: int) -> Iterator[Tuple[int, Union[Run, Event]]]:
        """Go through runs from an entry of :attr:`order` on, and events.

        None of the runs is a chain; the events are those between them.

        :returns: Each with its position in the stream; that of an event means nothing.
        """
        events, places = self._recorder.events, self._recorder.event_entries
        at = bisect_left(places, entry)
        for index, position in enumerate(self._recorder.positions(entry), entry):
            while at < len(events) and places[at] <= index:
                yield -1, self._recorder.placed(events[at])
                at += 1
            for distance, run in self._runs[self._order[index]].parts():
                yield position + distance, run
        for event in events[at:]:
            yield -1, self._recorder.placed(event)

    def entry_events(self) -> Iterator[Tuple[int, Event]]:
        """Go through events between entries, each with its entry's index."""
        return zip(self._recorder.event_entries, map(self._recorder.placed, self._recorder.events))

    @property
    def events(self) -> Sequence[Event]:
        """Everything that is not an instruction, oldest first."""
        if not self._recorder.table.has_events:
            return list(map(self._recorder.placed, self._recorder.events))
        return [event for _, event in self._numbered_events()]

    def number_at(self, event_index: int) -> int:
        """Count the instructions before an event, given by its index in :attr:`events`."""
        return self._numbered_events()[event_index][0]

    def interruptions(self) -> Iterator[Tuple[int, Event]]:
        """Go through gaps, debug halts and resets.

        :returns: For each the number of instructions that ran before it, and the event.
        """
        return events_of(self._recorder, self._sums, breaks, self._recorder.table.has_gaps)

    def exceptions(self, wanted: Callable[[Exception_], bool]) -> List[Tuple[int, Exception_]]:
        """List the exceptions of some kinds.

        :returns: Each with the number of instructions that ran before it.
        """

        def fits(event: Event) -> bool:
            return isinstance(event, Exception_) and wanted(event)

        found = events_of(self._recorder, self._sums, fits, self._recorder.table.has_events)
        return [(before, event) for before, event in found if isinstance(event, Exception_)]

    def events_after(self, number: int) -> List[Event]:
        """List the events directly after an instruction.

        :param number: 0 for those before the first.
        """
        items = self.spans(max(number, 1), max(number, 1))
        found: List[Event] = []
        for item in items:
            if not isinstance(item, Span):
                found.append(item)
            elif number:
                found = []
            else:
                break
        return found

    def _numbered_events(self) -> List[Tuple[int, Event]]:
        # All events, each with the number of instructions before it.
        if self._numbered is None:
            has_events = self._recorder.table.has_events
            self._numbered = list(events_of(self._recorder, self._sums, _any, has_events))
        return self._numbered


def _any(_: Event) -> bool:
    return True
