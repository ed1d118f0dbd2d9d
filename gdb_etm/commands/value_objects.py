"""JSON objects of commands: about values, and all by name."""

from __future__ import annotations

from typing import Any, Callable, Dict, List

from gdb_etm.commands.declare import Values
from gdb_etm.commands.listing_objects import LISTED
from gdb_etm.commands.origin import Find, found_origin, found_uses
from gdb_etm.commands.threads import TRACE_ID
from gdb_etm.commands.values import EXPRESSION, moment_of
from gdb_etm.commands.writes import BY, READS
from gdb_etm.commands.written_objects import WRITTEN
from gdb_etm.diagnosis.index import Touch
from gdb_etm.diagnosis.lost_updates import lost_updates
from gdb_etm.diagnosis.runs import Run
from gdb_etm.session.diagnosed import diagnosed
from gdb_etm.session.evaluation import Moment
from gdb_etm.session.objects import object_at
from gdb_etm.session.scenes import scene_for, words_for
from gdb_etm.session.session import DebugSession
from gdb_etm.session.stores import loads, stores, touches_of, value_of
from gdb_etm.views.fault import fault_object
from gdb_etm.views.schema import document
from gdb_etm.views.writes import run_value


def _fault(session: DebugSession, values: Values) -> Dict[str, Any]:
    found = diagnosed(session, values.get(TRACE_ID))
    words = words_for(session, found.decoded, found.scene)
    return document("fault", fault_object(found.diagnosis, found.status, found.scene, words))


def _chain(kind: str, find: Find) -> Callable[[DebugSession, Values], Dict[str, Any]]:
    def found(session: DebugSession, values: Values) -> Dict[str, Any]:
        chain = find(session, moment_of(session, values, needs_position=False), values)
        steps = [{**step._asdict(), "tier": step.tier.name.lower()} for step in chain.steps]
        return document(kind, {"title": chain.title, "rows": steps, "end": chain.end})

    return found


def _writes(session: DebugSession, values: Values) -> Dict[str, Any]:
    at = moment_of(session, values, needs_position=False)
    place = object_at(at, values.get(EXPRESSION) or "")
    are_loads = values.get(READS) is True
    found = (loads if are_loads else stores)(at, place, None, values.get(BY) or "")
    with at.known.solved(len(at.decoded.history) + 1, session.meter):
        rows = [_run(at, run, are_loads) for run in found.runs]
    fields = {**place._asdict(), "loads": are_loads, "unknown_before": found.unknown_before, "first": found.first}
    return document("writes", {**fields, "rows": rows})


def _run(at: Moment, run: Run, are_loads: bool) -> Dict[str, Any]:
    known, tier, _ = run_value(run)
    row: Dict[str, Any] = {"number": run.number, "since": run.oldest, "address": run.address, "size": run.size}
    if not are_loads:
        is_inside = run.oldest >= 1
        row["before"] = (
            [one.value for one in at.recovery.memory(run.oldest, run.address, run.size)] if is_inside else []
        )
    row.update({"bytes": known, "tier": tier.name.lower(), "certain": run.writes[0].certain})
    row.update({"caller": run.caller, "is_pushed": run.is_pushed, "unknown_after": run.unknown_after})
    return {**row, **(_where(at, run.number) if run.number >= 1 else {})}


def _where(at: Moment, number: int) -> Dict[str, Any]:
    scene = scene_for(at.session, at.decoded, at.known)
    words, address = words_for(at.session, at.decoded, scene), scene.index.address(number)
    return {
        "symbol": words.symbol(address) or None,
        "line": words.line(address) or None,
        "context": words.context(number) or None,
    }


def _race(session: DebugSession, values: Values) -> Dict[str, Any]:
    at = moment_of(session, values, needs_position=False)
    place = object_at(at, values.get(EXPRESSION) or "")
    with at.known.solved(len(at.decoded.history) + 1, session.meter):
        touched = touches_of(at, place)
        found = lost_updates(scene_for(session, at.decoded, at.known), touched.touches)
        rows: List[Dict[str, Any]] = [
            {
                "load": _touch(at, one.load),
                "others": [_touch(at, other) for other in one.others],
                "store": _touch(at, one.store),
            }
            for one in found
        ]
    fields = {**place._asdict(), "unknown_stores": touched.unknown, "first": touched.first}
    return document("race", {**fields, "rows": rows})


def _touch(at: Moment, touch: Touch) -> Dict[str, Any]:
    value = value_of(at, touch.number + int(touch.store), touch.address, touch.size).value
    row = {"number": touch.number, "address": touch.address, "size": touch.size, "value": value}
    return {**row, **_where(at, touch.number)}


# By the command's name.
OBJECTS: Dict[str, Callable[[DebugSession, Values], Dict[str, Any]]] = {
    "fault": _fault,
    "origin": _chain("origin", found_origin),
    "uses": _chain("uses", found_uses),
    "writes": _writes,
    "race": _race,
    **LISTED,
    **WRITTEN,
}
