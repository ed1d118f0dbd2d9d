"""The rows of a capture, or of a program."""

from __future__ import annotations

import gc
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.analysis.counts import ExecutionCounts
from gdb_etm.analysis.coverage import LinePlaces, program_branches
from gdb_etm.analysis.edges import EdgeCounts
from gdb_etm.capture import RawCapture
from gdb_etm.diagnosis.suspicion import Suspicion
from gdb_etm.errors import CommandError, EtmError
from gdb_etm.farm.identity import build_id
from gdb_etm.farm.tables import (
    BRANCHES,
    CODE_BRANCHES,
    CODE_LINES,
    CONTENTS,
    EDGES,
    FAULTS,
    FUNCTIONS,
    GAPS,
    LINES,
    PROFILE,
    RANGES,
    Row,
    Rows,
)
from gdb_etm.history.build import DecoderCache
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.offline.locations import ElfLocations
from gdb_etm.offline.program_sources import ProgramSources
from gdb_etm.program.blocks import Blocks
from gdb_etm.program.image import Program, load_elf
from gdb_etm.protocols.elements import Gap
from gdb_etm.protocols.garbage import garbage_uncollected
from gdb_etm.protocols.registry import PROTOCOLS
from gdb_etm.recovery.values import Tier
from gdb_etm.session.analysed import CYCLES, INSTRUCTIONS, long_costs, profile_of
from gdb_etm.session.captures import CaptureRecord
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.diagnosed import Diagnosed, NothingWrong, diagnosed_of
from gdb_etm.session.halt_states import anchored_of
from gdb_etm.session.progress import Meter
from gdb_etm.session.saved import read_captures
from gdb_etm.session.session import DebugSession

# Captures that share decoders: what these learn of a program makes the next capture quicker, and takes memory.
_SHARED = 8
# Instructions of a history whose calls are not all kept.
_LONG = 1 << 24
NO_FAULT, NOT_KNOWN, NOT_JUDGED = "none", "not known", ""


class TraceStream(NamedTuple):
    """A trace stream of a capture with several."""

    # Which of the snapshot's trace buffers that can be decoded, from 0.
    buffer: int
    trace_id: int


class Subject(NamedTuple):
    """A content to analyse, and one capture that has it."""

    path: str
    content: str
    analysis: str
    # What alone is analysed of it; None: all.
    unit: Optional[TraceStream] = None

    @property
    def name(self) -> str:
        """What its tables are known by."""
        return self.analysis if self.unit is None else "%s %d %d" % (self.analysis, *self.unit)


class Facts(NamedTuple):
    """What is known of a capture, or of a trace stream."""

    # Of all its trace units, in order.
    units: Tuple[str, ...] = ()
    cores: Tuple[str, ...] = ()
    size: int = 0
    # Of what was analysed.
    instructions: int = 0
    gaps: int = 0
    verdicts: Tuple[str, ...] = ()
    # Why it could not be; empty: it could.
    reason: str = ""

    def joined(self, other: Facts) -> Facts:
        """Add another trace stream of the capture."""
        sums = self.instructions + other.instructions, self.gaps + other.gaps
        return Facts(*other[:3], *sums, self.verdicts + other.verdicts, self.reason or other.reason)

    def rows(self, program: FarmProgram, subject: Subject) -> Rows:
        """Give the row of the capture."""
        names = ", ".join(self.units), ", ".join(self.cores)
        # Of many cores the one that went wrong counts.
        verdict = max(self.verdicts, key=lambda one: one not in (NO_FAULT, NOT_JUDGED), default=NOT_JUDGED)
        reason = self.reason
        if not self.instructions and not reason:
            reason = "no instructions were seen in %d bytes of trace" % self.size
        counts = (self.size, self.instructions, self.gaps)
        known = (program.identity, program.build_id, *names, *counts, NOT_JUDGED if reason else verdict, reason)
        return {CONTENTS.name: [(subject.analysis, subject.content, *known)]}


class FarmProgram:
    """A program, with what was learned of it in this process.

    :param files: Its ELF files.
    :param identity: The hash of them.
    :raises ImageError: One of them cannot be read.
    """

    def __init__(self, files: Sequence[str], identity: str) -> None:
        self.files = list(files)
        self.identity = identity
        self.debugger = OfflineDebugger(self.files)
        self.session = DebugSession(self.debugger, Meter(None))
        self.session.locations = ElfLocations(self.debugger)
        self.sources = ProgramSources(self.files)
        self.places: LinePlaces = self.sources.places()
        self.build_id = build_id(self.files)
        self._cache = DecoderCache()
        self._used = 0

    def decoders(self) -> DecoderCache:
        """Give the decoders for the next capture."""
        if self._used % _SHARED == 0:
            self._cache = DecoderCache()
            # What a history is made of refers to itself.
            gc.collect()
        self._used += 1
        return self._cache

    def rows(self) -> Rows:
        """Give the rows of the program's own tables."""
        images = [image for path in self.files for image in load_elf(path)]
        blocks = Blocks(Program(images))
        branches: List[Row] = []
        lines = {(piece.path, piece.line): None for piece in self.places.pieces}
        for address in program_branches(blocks, self.sources.code):
            function = self.debugger.function_at(address)
            name = function.name if function is not None else ""
            branches.append((self.identity, address, name, *self.place(address)))
        functions: List[Row] = []
        for symbol in self.debugger.functions:
            one = self.debugger.function_at(symbol.start)
            if one is not None and not one.is_label:
                functions.append((self.identity, one.name, one.start, one.end, *self.place(one.start)))
        return {
            FUNCTIONS.name: functions,
            CODE_LINES.name: [(self.identity, *line) for line in lines],
            CODE_BRANCHES.name: branches,
        }

    def place(self, address: int) -> Tuple[Optional[str], Optional[int]]:
        """Find the source file and line of an instruction."""
        piece = self.places.at(address)
        return (piece.path, piece.line) if piece is not None else (None, None)


def trace_streams(path: str, files: Sequence[str]) -> List[TraceStream]:
    """List a capture's trace streams, as far as its registers name them.

    :raises EtmError: It cannot be read.
    """
    found: Dict[TraceStream, None] = {}
    for buffer, capture in enumerate(_decodable(path, files)):
        for source in capture.sources:
            if source.protocol in PROTOCOLS:
                found[TraceStream(buffer, PROTOCOLS[source.protocol].config(source).trace_id)] = None
    return list(found)


def measure(program: FarmProgram, subject: Subject) -> Tuple[Rows, Facts]:
    """Analyse a capture, or one of its trace streams.

    :returns: All rows but that of the capture, and what is known of it; without rows where that has a reason.
    """
    found = _Found(program, subject)
    try:
        with garbage_uncollected():
            found.read()
        return found.rows, found.facts
    except EtmError as error:
        reason = str(error)
    except Exception as error:  # a fault of ours in one capture is no reason to give up the others
        words = " ".join(str(error).split())
        reason = "gdb_etm failed, please report it: %s: %s" % (type(error).__name__, words)
    return {}, found.facts._replace(reason=reason)


def _decodable(path: str, files: Sequence[str]) -> List[RawCapture]:
    # A snapshot may have a buffer of another kind of trace besides; where it has no other the decoder says so.
    captures = read_captures(path, files)
    found = [one for one in captures if any(source.protocol in PROTOCOLS for source in one.sources)]
    return found or captures


class _Found:
    # What was found in a capture so far.

    def __init__(self, program: FarmProgram, subject: Subject) -> None:
        self._program = program
        self._subject = subject
        self.rows: Rows = {}
        self.facts = Facts()
        self._verdicts: List[str] = []

    def read(self) -> None:
        program, unit = self._program, self._subject.unit
        decoders = program.decoders()
        captures = _decodable(self._subject.path, program.files)
        sources = [source for capture in captures for source in capture.sources]
        units = tuple(dict.fromkeys([source.protocol for source in sources]))
        cores = tuple(dict.fromkeys([source.core.type for source in sources if source.core is not None]))
        self.facts = Facts(units, cores, sum([len(capture.buffer) for capture in captures]))
        for capture in captures if unit is None else captures[unit.buffer : unit.buffer + 1]:
            record = CaptureRecord(1, capture, self._subject.path, False, program.session.meter)
            record.anchored = anchored_of(capture)
            only = None if unit is None else unit.trace_id
            for trace_id, decoded in record.decoded((), decoders, None, only).items():
                if only in (None, trace_id):
                    self._add(decoded)
        self.facts = self.facts._replace(verdicts=tuple(self._verdicts))

    def _add(self, decoded: Decoded) -> None:
        counts, edges = ExecutionCounts(), EdgeCounts()
        counts.add(decoded.history)
        edges.add(decoded.history)
        sums = self.facts.instructions + counts.instructions, self.facts.gaps + counts.gaps
        self.facts = self.facts._replace(instructions=sums[0], gaps=sums[1])
        self._put(GAPS.name, decoded, self._gap_rows(decoded))
        if not counts.instructions:
            return
        self._put(LINES.name, decoded, self._line_rows(counts))
        branches = sorted(counts.taken.keys() | counts.not_taken.keys())
        self._put(BRANCHES.name, decoded, ((address, *counts.branch(address)) for address in branches))
        self._put(PROFILE.name, decoded, self._profile_rows(decoded))
        self._put(EDGES.name, decoded, ((*edge, times) for edge, times in sorted(edges.edges.items())))
        self._put(RANGES.name, decoded, ((*stretch, times) for stretch, times in sorted(edges.stretches.items())))
        self._put(FAULTS.name, decoded, self._fault_rows(decoded))

    def _put(self, table: str, decoded: Decoded, rows: Iterator[Row]) -> None:
        own = self._subject.analysis, decoded.trace_id
        self.rows.setdefault(table, []).extend((*own, *row) for row in rows)

    def _gap_rows(self, decoded: Decoded) -> Iterator[Row]:
        for number, event in decoded.history.interruptions():
            if isinstance(event, Gap) and number not in decoded.paused:
                yield number, event.offset, event.reason.value, event.detail

    def _line_rows(self, counts: ExecutionCounts) -> Iterator[Row]:
        lines: Dict[Tuple[str, int], int] = {}
        for address, times in counts.executed.items():
            piece = self._program.places.at(address)
            if piece is not None:
                key = piece.path, piece.line
                lines[key] = max(lines.get(key, 0), times)
        return ((*line, times) for line, times in sorted(lines.items()))

    def _profile_rows(self, decoded: Decoded) -> Iterator[Row]:
        debugger = self._program.debugger
        if len(decoded.history) > _LONG:
            # Its calls do not fit into memory; nor are their cycles known without them.
            for cost in long_costs(debugger, decoded):
                yield (cost.function.name, cost.function.start, cost.calls, cost.own, cost.inclusive, None, None)
            return
        cycles: Dict[Tuple[str, int], Tuple[int, int]] = {}
        if decoded.clock.has_cycles:
            for one in profile_of(debugger, decoded, CYCLES).functions():
                cycles[one.function.name, one.function.start] = one.own, one.inclusive
        for one in profile_of(debugger, decoded, INSTRUCTIONS).functions():
            key = one.function.name, one.function.start
            yield (*key, one.calls, one.own, one.inclusive, *cycles.get(key, (None, None)))

    def _fault_rows(self, decoded: Decoded) -> Iterator[Row]:
        try:
            found = diagnosed_of(self._program.session, decoded)
        except NothingWrong:
            self._verdicts.append(NO_FAULT)
            return
        except CommandError:
            # Nothing is known of the core's end, or this is no core that it works for.
            self._verdicts.append(NOT_JUDGED)
            return
        diagnosis, event = found.diagnosis, found.diagnosis.site.event
        exception = event.name if event is not None and diagnosis.site.failure is None else ""
        verdict = diagnosis.verdict
        if verdict is None:
            self._verdicts.append(NOT_KNOWN)
            yield exception, NOT_KNOWN, "where it comes from is not known", None, None, None, None, None
            return
        kind = verdict.kind.name.lower()
        self._verdicts.append(kind)
        address = _blamed(found, verdict)
        function = self._program.debugger.function_at(address)
        name = function.name if function is not None else None
        tier = "exact" if verdict.tier is Tier.EXACT else "assumed"
        yield (exception, kind, verdict.text, tier, address, name, *self._program.place(address))


def _blamed(found: Diagnosed, verdict: Suspicion) -> int:
    return (verdict.address if verdict.address is not None else found.scene.index.address(verdict.number)) & ~1
