"""A report's document of a history: what each of its parts says."""

from __future__ import annotations

import os
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.analysis.coverage import Coverage
from gdb_etm.analysis.profile import CallProfile
from gdb_etm.errors import EtmError
from gdb_etm.exports.report import (
    ExecutionColumns,
    WrittenCode,
    calls_document,
    coverage_document,
    grouped_gaps,
    profile_document,
    timeline_document,
)
from gdb_etm.history.store import Span, TracedInstruction
from gdb_etm.protocols.elements import Cycles, DataGap, Event, Gap, Range, Timestamp, TraceEvent
from gdb_etm.protocols.profile import is_m_profile
from gdb_etm.recovery.explain import name_of
from gdb_etm.recovery.lift.template import Templates
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.session.analysed import INSTRUCTIONS, timeline_of
from gdb_etm.session.debugger import Debugger
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.disassembler import ItBlocks, symbol_text
from gdb_etm.session.listing import HaltNotes, is_start
from gdb_etm.session.past import recovered
from gdb_etm.session.session import DebugSession
from gdb_etm.session.source_files import read_lines, refusal
from gdb_etm.views.history import event_text
from gdb_etm.views.text import bytes_text, end_text, gap_lines, gap_text, plural

# Instructions at the end whose values are worked out; it takes a second for each 10,000.
_VALUES = 2000
_REGISTERS = (*("r%d" % number for number in range(13)), "sp", "lr")


class ReportParts(NamedTuple):
    """What a report holds besides the history."""

    coverage: Coverage
    profile: CallProfile
    # The verdict's lines, or why there is none.
    fault: Sequence[str]
    has_fault: bool


def report_document(session: DebugSession, decoded: Decoded, parts: ReportParts) -> Dict[str, Any]:
    """Make the document."""
    debugger, history = session.debugger, decoded.history
    calls = decoded.calls(debugger.function_at)
    threads = decoded.threads(debugger)

    def label(at: int) -> str:
        number = calls.threads.of(at)
        return ", in %s" % threads.label(number) if number and len(threads.threads) > 1 else ""

    def gap(row: Gap, before: int) -> str:
        return "" if before == 0 and is_start(decoded, row) else gap_text(row)

    execution = _Execution(debugger, decoded)
    values, why_none = _values(session, decoded)
    program = ", ".join(map(os.path.basename, debugger.program_files()))
    return {
        "program": program,
        "summary": _summary(session, decoded, program, values, why_none),
        "fault": list(parts.fault),
        "hasFault": parts.has_fault,
        "missing": list(grouped_gaps(execution.gaps)),
        "instructions": len(history),
        "values": [[number, text] for number, text in values],
        "failed": _failed(decoded),
        "history": execution.columns.document(),
        "calls": calls_document(calls.rows(), len(history), label, gap),
        "timeline": timeline_document(timeline_of(debugger, decoded, INSTRUCTIONS)),
        "profile": profile_document(parts.profile),
        "coverage": coverage_document(parts.coverage, lambda file: (read_lines(file), refusal(file))),
    }


def _summary(
    session: DebugSession, decoded: Decoded, program: str, values: Sequence[Tuple[int, str]], why_none: str
) -> List[List[str]]:
    history, record = decoded.history, session.look()
    core, calls = history.source.core, decoded.calls(session.debugger.function_at)
    joined = session.joined.records if session.joined is not None and not session.is_alone else [record]
    size = sum(len(one.capture.buffer) for one in joined)
    gaps = sum(isinstance(event, Gap) for event in history.events)
    known = "registers of the last %s" % plural(min(_VALUES, len(history)), "instruction") if values else why_none
    rows = [
        ["program", program],
        ["core", core.type if core is not None else "not known"],
        ["trace unit", "%s (%s)" % (history.source.name, history.source.protocol)],
        ["trace", "%s in %s" % (bytes_text(size), plural(len(joined), "capture"))],
        ["instructions", "{:,}".format(len(history))],
        ["calls", "{:,}".format(calls.calls)],
        ["exceptions", "{:,}".format(calls.exceptions)],
        ["gaps", "{:,}".format(gaps)],
        ["begins", end_text(history.end_reason).strip("[]")],
        ["values", known],
    ]
    if decoded.doubt.addresses:
        rows.append(["doubt", "the program and the target's memory differ: what is marked ! is not what ran"])
    elif decoded.doubt.unread is not None:
        rows.append(["doubt", "the code was not compared with the target's: %s" % decoded.doubt.unread])
    return rows


class _Writer:
    # Writes the instructions of ranges.

    def __init__(self, debugger: Debugger, decoded: Decoded) -> None:
        self._debugger = debugger
        self._decoded = decoded

    def write(self, executed: Range, before: Optional[Range]) -> Tuple[List[WrittenCode], bool]:
        blocks = ItBlocks()
        for one in (before,) if before is not None else ():
            self._texts(one, blocks)
        return self._texts(executed, blocks), bool(blocks.before(executed.end, b"\0\0", executed.isa))

    def _texts(self, executed: Range, blocks: ItBlocks) -> List[WrittenCode]:
        addresses = [*self._decoded.history.addresses(executed), executed.end]
        return [self._text(at, after - at, executed, blocks) for at, after in zip(addresses, addresses[1:])]

    def _text(self, address: int, size: int, executed: Range, blocks: ItBlocks) -> WrittenCode:
        code = self._decoded.program.read(address, size)
        text = self._debugger.disassemble(address, code, executed.isa, blocks.before(address, code, executed.isa))
        line = self._debugger.line_at(address)
        return WrittenCode(
            address,
            symbol_text(self._debugger.function_at(address), address),
            " ".join(text.split()),
            "%s:%d" % (os.path.basename(line.path), line.line) if line is not None else "",
            (self._debugger.source_text(line) or "") if line is not None else "",
            not self._decoded.doubt.addresses.isdisjoint(range(address, address + size)),
        )


class _Execution:
    # What ran, as columns, and the gaps: after which instruction, and the words.

    def __init__(self, debugger: Debugger, decoded: Decoded) -> None:
        self._decoded = decoded
        self._halts = HaltNotes(decoded)
        self._marks = dict(decoded.history.source.marks)
        self._pending: List[Gap] = []
        self._last = 0
        self.columns = ExecutionColumns(_Writer(debugger, decoded).write)
        self.gaps: List[Tuple[int, str]] = []
        threads = decoded.threads(debugger)
        switches = decoded.calls(debugger.function_at).switches(1, len(decoded.history))
        self._switches = {one.after: threads.switch(one) for one in switches}
        self.columns.event(0, end_text(decoded.history.end_reason))
        for item in decoded.history.spans(1, len(decoded.history)):
            if isinstance(item, Span):
                self._block(item)
            elif not isinstance(item, (Cycles, DataGap, Timestamp)):
                self._event(item)
        self._flush()

    def _block(self, span: Span) -> None:
        self._flush()
        if self._last in self._switches:
            self.columns.event(self._last, "[%s]" % self._switches[self._last])
        self.columns.block(span.range)
        self._last = span.number + span.range.instructions - 1

    def _event(self, event: Event) -> None:
        note = self._halts.note(self._last, event)
        if note is not None:
            self._flush()
            self.columns.event(self._last, "[%s]" % note.text)
        if self._halts.hides(self._last, event) or self._last == 0 and is_start(self._decoded, event):
            return
        if isinstance(event, Gap):
            self._pending.append(event)
            return
        self._flush()
        words = self._marks.get(event.number, "") if isinstance(event, TraceEvent) else ""
        for line in event_text(event, words):
            self.columns.event(self._last, line)

    def _flush(self) -> None:
        # Gaps that follow each other are told together.
        if self._pending:
            for line in gap_lines(self._pending):
                self.columns.event(self._last, line)
            self.gaps += [(self._last, gap_text(gap)[6:-1]) for gap in self._pending]
            self._pending = []


def _values(session: DebugSession, decoded: Decoded) -> Tuple[List[Tuple[int, str]], str]:
    # What the last instructions made of the registers, as far as it is known; or why nothing is.
    last = len(decoded.history)
    first = max(1, last - _VALUES + 1)
    try:
        known = recovered(session, decoded)
        with known.solved(first, session.meter) as recovery:
            found = list(_written(decoded, recovery, first, last))
    except EtmError as error:
        return [], str(error)
    return found, "" if found else "none is known"


def _written(decoded: Decoded, recovery: Recovery, first: int, last: int) -> Iterator[Tuple[int, str]]:
    history = decoded.history
    templates = Templates(history.program, is_m_profile(history.source.core))
    for item in history.walk(first, last):
        template = templates.at(item.address, item.isa) if isinstance(item, TracedInstruction) else None
        if template is None or not isinstance(item, TracedInstruction):
            continue
        names = [name for name in map(name_of, template.writes) if name in _REGISTERS]
        values = [(name, recovery.register(item.number + 1, name).value) for name in names]
        known = ["%s=0x%x" % (name, value) for name, value in values if value is not None]
        if known:
            yield item.number, " ".join(known)


def _failed(decoded: Decoded) -> List[int]:
    # Conditional instructions that did nothing, as far as the trace says so.
    outcomes = decoded.history.outcomes(1, len(decoded.history))
    return sorted(number for number, passed in outcomes.items() if not passed)
