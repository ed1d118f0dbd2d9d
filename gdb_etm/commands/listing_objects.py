"""JSON objects of the commands that list what ran."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple

from gdb_etm.analysis.coverage import Coverage
from gdb_etm.analysis.profile import CallProfile
from gdb_etm.commands.compare import LEFT, RIGHT, side_of
from gdb_etm.commands.coverage import COVERAGE
from gdb_etm.commands.coverage import EXPORT as COVERAGE_EXPORT
from gdb_etm.commands.declare import Argument, Command, Values
from gdb_etm.commands.history import CALL_RANGE, PACKET_RANGE, RANGE
from gdb_etm.commands.packets import TRACE_ID as STREAM_ID
from gdb_etm.commands.profile import EXPORT as PROFILE_EXPORT
from gdb_etm.commands.profile import PROFILE, WITH_CYCLES
from gdb_etm.commands.threads import TRACE_ID
from gdb_etm.commands.values import WHICH, moment_of, register_at
from gdb_etm.commands.why import asked_register
from gdb_etm.history.budget import spend
from gdb_etm.history.calls import Break, Entry, Interrupt, ThreadSwitch
from gdb_etm.history.store import ExecutionHistory, TracedInstruction
from gdb_etm.offline.program_sources import sources_of
from gdb_etm.program.isa import Isa
from gdb_etm.recovery.values import Value
from gdb_etm.session.analysed import CYCLES, INSTRUCTIONS
from gdb_etm.session.compared import compared
from gdb_etm.session.counted import counts_shown, profile_shown
from gdb_etm.session.debugger import Debugger
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.ranges import NumberRange, window
from gdb_etm.session.register_names import CORE, register_name
from gdb_etm.session.session import DebugSession
from gdb_etm.views.compare import compare_object
from gdb_etm.views.elements import InstructionWords, history_objects, packet_object
from gdb_etm.views.schema import document, inner
from gdb_etm.views.text import exception_text, gap_text


def instruction_words(debugger: Debugger) -> Callable[[int], InstructionWords]:
    """Give what is said of an address: function, source line, its text."""
    known: Dict[int, InstructionWords] = {}

    def words(address: int) -> InstructionWords:
        if address not in known:
            function, line = debugger.function_at(address), debugger.line_at(address)
            known[address] = InstructionWords(
                function.name if function is not None else None,
                "%s:%d" % (line.path, line.line) if line is not None else None,
                debugger.source_text(line) if line is not None else None,
            )
        return known[address]

    return words


def instruction_text(debugger: Debugger, history: ExecutionHistory) -> Callable[[TracedInstruction], str]:
    """Give what writes instructions."""
    known: Dict[Tuple[int, Isa], str] = {}

    def text(one: TracedInstruction) -> str:
        key = one.address, one.isa
        if key not in known:
            code = history.program.read(one.address, one.size)
            known[key] = " ".join(debugger.disassemble(one.address, code, one.isa).split())
        return known[key]

    return text


def _range(session: DebugSession, values: Values, length: int, which: Any, what: str) -> NumberRange:
    text = " ".join(values.all(which)).strip()
    return window(text, length, None, None, what) if text else NumberRange(1, length)


def _history(session: DebugSession, values: Values) -> Dict[str, Any]:
    decoded = session.shown(values.get(TRACE_ID))
    shown = _range(session, values, len(decoded.history), RANGE, "instructions")
    words = instruction_words(session.debugger)
    text = instruction_text(session.debugger, decoded.history)
    found = history_objects(decoded.trace_id, decoded.history, shown, words, text)
    return document("history", {"id": decoded.trace_id, "count": len(decoded.history), "rows": inner(found)})


def _packets(session: DebugSession, values: Values) -> Dict[str, Any]:
    packets = session.look().packets(values.get(STREAM_ID))
    shown = _range(session, values, len(packets), PACKET_RANGE, "packets")
    rows = (packet_object(*row) for row in packets.rows(shown))
    return document("packets", {"count": len(packets), "rows": inner(rows)})


def _functions(session: DebugSession, values: Values) -> Dict[str, Any]:
    decoded = session.shown(values.get(TRACE_ID))
    calls = decoded.calls(session.debugger.function_at)
    shown = _range(session, values, len(calls), CALL_RANGE, "functions")
    words = instruction_words(session.debugger)
    rows = [_call(session, decoded, entry, words) for entry in calls.entries(shown.first, shown.last)]
    return document("functions", {"id": decoded.trace_id, "count": len(calls), "rows": rows})


def _call(
    session: DebugSession, decoded: Decoded, entry: Entry, words: Callable[[int], InstructionWords]
) -> Dict[str, Any]:
    if isinstance(entry, Break):
        return {"kind": "gap", "name": gap_text(entry.event), "level": entry.level, "after": entry.after}
    if isinstance(entry, Interrupt):
        return {"kind": "exception", "name": exception_text(entry.event), "level": entry.level, "after": entry.after}
    if isinstance(entry, ThreadSwitch):
        name = decoded.threads(session.debugger).switch(entry)
        return {"kind": "switch", "name": name, "level": entry.level, "after": entry.after}
    found = words(entry.address)
    return {
        "kind": "function",
        "name": entry.function.name if entry.function is not None else None,
        "level": entry.level,
        "address": entry.address,
        "first": entry.first,
        "last": entry.last,
        "entered": entry.entered.value,
        "line": found.line,
        "source": found.source,
    }


def _threads(session: DebugSession, values: Values) -> Dict[str, Any]:
    decoded = session.shown(values.get(TRACE_ID))
    rows = [
        {
            "thread": own.number,
            "name": name,
            "instructions": own.instructions,
            "first": own.first,
            "last": own.last,
            "block": block,
            "alike": list(own.alike),
            "rivals": list(rivals),
        }
        for own, name, block, rivals in decoded.threads(session.debugger).threads
    ]
    return document("threads", {"id": decoded.trace_id, "rows": rows})


def _budget(session: DebugSession, values: Values) -> Dict[str, Any]:
    record = session.look()
    wanted = values.get(TRACE_ID)
    streams = spend([one for one in record.streams() if wanted in (None, one.trace_id)], lambda done: None)
    rows = [
        {
            "id": one.trace_id,
            "title": one.title,
            "bytes": one.size,
            "packets": [{"name": share.name, "count": share.packets, "bytes": share.size} for share in one.shares],
        }
        for one in streams
    ]
    return document("budget", {"bytes": len(record.capture.buffer), "rows": rows})


def coverage_object(coverage: Coverage, written: str) -> Dict[str, Any]:
    """Make the object of coverage; a row is a source file.

    :param written: The file that it was exported to; empty for none.
    """
    rows = [
        {
            "path": file.path,
            "lines": file.line_ratio._asdict(),
            "branches": file.branch_ratio._asdict(),
            "functions": file.function_ratio._asdict(),
            "counts": [{"line_number": one.line, "times": one.times} for one in file.lines],
        }
        for file in coverage.files
    ]
    fields = {"instructions": coverage.instructions, "gaps": coverage.gaps, "written": [written] * bool(written)}
    return document("coverage", {**fields, "rows": rows})


def _exported(session: DebugSession, values: Values, export: Argument[str], command: Command) -> str:
    # The file that was asked for besides, once it is written.
    path = values.get(export) or ""
    if path:
        for _ in command.run(session, values):
            pass
    return path


def _coverage(session: DebugSession, values: Values) -> Dict[str, Any]:
    decoded = session.shown(values.get(TRACE_ID))
    sources = sources_of(session.debugger.program_files())
    coverage = sources.coverage(counts_shown(session, decoded), decoded.history.blocks)
    return coverage_object(coverage, _exported(session, values, COVERAGE_EXPORT, COVERAGE))


def profile_object(profile: CallProfile, written: str) -> Dict[str, Any]:
    """Make the object of a profile; a row is a function.

    :param written: The file that it was exported to; empty for none.
    """
    rows: List[Dict[str, Any]] = []
    for one in profile.functions():
        costs = sorted(one.costs)
        rows.append(
            {
                "name": one.function.name,
                "calls": one.calls,
                "own": one.own,
                "inclusive": one.inclusive,
                "minimum": costs[0] if costs else None,
                "median": one.median,
                "maximum": costs[-1] if costs else None,
            }
        )
    fields: Dict[str, Any] = {"unit": profile.unit, "instructions": profile.instructions, "gaps": profile.gaps}
    fields = {**fields, "unmeasured": profile.unmeasured, "written": [written] * bool(written)}
    return document("profile", {**fields, "rows": rows})


def _profile(session: DebugSession, values: Values) -> Dict[str, Any]:
    unit = CYCLES if values.get(WITH_CYCLES) else INSTRUCTIONS
    profile = profile_shown(session, session.shown(values.get(TRACE_ID)), unit)
    return profile_object(profile, _exported(session, values, PROFILE_EXPORT, PROFILE))


def _info(session: DebugSession, values: Values) -> Dict[str, Any]:
    at = moment_of(session, values)
    names = [register_name(name) for name in values.all(WHICH)] or list(CORE)
    rows = [{"register": name, **_value(register_at(at, name))} for name in names]
    return document("info", {"number": at.number, "rows": rows})


def _value(value: Value) -> Dict[str, Any]:
    return {"value": value.value, "tier": value.tier.name.lower(), "text": value.reason}


def _why(session: DebugSession, values: Values) -> Dict[str, Any]:
    at, name = asked_register(session, values)
    steps = at.answers.why(at.number, name)
    rows = [{"number": step.number, "text": step.text, "tier": step.tier.name.lower()} for step in steps]
    fields = {"number": at.number, "register": name, **_value(register_at(at, name))}
    return document("why", {**fields, "rows": rows})


def _captures(session: DebugSession, values: Values) -> Dict[str, Any]:
    rows: List[Dict[str, Any]] = []
    for one in session.captures:
        count: Optional[int] = one.instructions if one.instructions >= 0 else None
        fields = {"capture": one.number, "bytes": len(one.capture.buffer), "instructions": count}
        rows.append({**fields, "origin": one.origin, "end": one.capture.end.value, "current": one is session.current})
    return document("captures", {"rows": rows})


def _compare(session: DebugSession, values: Values) -> Dict[str, Any]:
    sides = [side_of(session, values.get(one) or "", values) for one in (LEFT, RIGHT)]
    return compare_object(compared(sides[0], sides[1]))


# By the command's name.
LISTED: Dict[str, Callable[[DebugSession, Values], Dict[str, Any]]] = {
    "history": _history,
    "functions": _functions,
    "packets": _packets,
    "threads": _threads,
    "budget": _budget,
    "coverage": _coverage,
    "profile": _profile,
    "info": _info,
    "why": _why,
    "captures": _captures,
    "compare": _compare,
}
