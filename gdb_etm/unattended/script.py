"""A script as values, from what its TOML file holds."""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple

from gdb_etm.profiles.tables import TableReader, read_toml
from gdb_etm.unattended.checks import CheckRequest, check_of, is_accepted
from gdb_etm.unattended.figures import ScriptError

# Bytes of a script.
_LARGEST = 1 << 18
_MOST_RUNS = 100_000
_MOST_SECONDS = 10_000_000.0
# Seconds for the whole, unless the script says otherwise.
_TIME_LIMIT = 600.0

_TRACE: Dict[str, Tuple[str, ...]] = {
    "texts": ("include", "exclude", "start-at", "stop-at", "broadcast-range", "data-range", "data-exclude"),
    "number": ("cycles", "sync-period", "stall-level", "trigger-position"),
    "flag": ("timestamps", "branch-broadcast", "no-return-stack", "stall", "overflow-prevention"),
    "text": ("context", "data", "conditional", "q-elements", "buffer"),
}


class ScriptTarget(NamedTuple):
    """What to connect to."""

    # Keyword arguments of :func:`gdb_etm.connect`.
    arguments: Mapping[str, Any]
    elf: Tuple[str, ...]
    # Whether the first ELF file is written to the chip.
    load: bool


class RunPlan(NamedTuple):
    """How often to run, and until when."""

    # A place; empty for none.
    to: str
    # At most so long for each run; None: without end.
    seconds: Optional[float]
    times: int
    # Whether the chip is reset before each run.
    reset: bool
    # Whether more than the buffer holds is recorded; and in samples, of how many cycles.
    record: bool
    sample: Optional[int]
    # Seconds for everything.
    time_limit: float
    # Whether what was seen is enough to decide a check.
    accepts: bool


class CheckScript(NamedTuple):
    """What to run, and what to check."""

    # The file, for messages.
    path: str
    title: str
    target: ScriptTarget
    # Keyword arguments of :meth:`gdb_etm.Session.configure`.
    trace: Mapping[str, Any]
    settings: Mapping[str, str]
    plan: RunPlan
    checks: Tuple[CheckRequest, ...]


def read_script(path: str, needs_checks: bool = True) -> CheckScript:
    """Read a script.

    :param needs_checks: Whether one without checks and without an end is refused.
    :raises ScriptError: It cannot be read, or something of it is missing, unknown or of the wrong kind.
    """
    reader = TableReader(path, read_toml(path, _LARGEST, ScriptError), ScriptError)
    folder = os.path.dirname(os.path.abspath(path))
    found = CheckScript(
        path,
        reader.text("title", os.path.basename(path)),
        reader.made("target", lambda inner: _target(inner, folder)),
        reader.made("trace", _trace),
        reader.made("settings", _settings),
        reader.made("run", _plan),
        reader.several("check", check_of),
    )
    reader.end()
    plan = found.plan
    if needs_checks and not found.checks:
        raise ScriptError("%s: no [[check]]: nothing would be checked" % path)
    if needs_checks and not plan.to and plan.seconds is None:
        raise ScriptError("%s, run: to or seconds is missing: a run has no end" % path)
    names = [one.name for one in found.checks]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ScriptError('%s: two checks are called "%s"; give one of them a name' % (path, twice[0]))
    return found


def _target(reader: TableReader, folder: str) -> ScriptTarget:
    arguments: Dict[str, Any] = {"where": reader.text("connect", "")}
    for key in ("probe", "target", "mode", "profile"):
        if reader.has(key):
            arguments[key] = reader.text(key)
    for key in ("frequency", "unit", "buffer", "etb-size"):
        if reader.has(key):
            arguments[key.replace("-", "_")] = reader.number(key)
    if reader.has("data-trace"):
        arguments["data_trace"] = reader.flag("data-trace")
    arguments["option"] = reader.texts("option", ())
    # Beside the script, wherever it is started.
    elf = tuple(os.path.join(folder, os.path.expanduser(name)) for name in reader.texts("elf", ()))
    load = reader.flag("load", False)
    if load and not elf:
        raise reader.refuse("load, and no elf to load")
    return ScriptTarget({**arguments, "elf": elf}, elf, load)


def _trace(reader: TableReader) -> Dict[str, Any]:
    found: Dict[str, Any] = {}
    for kind, keys in _TRACE.items():
        for key in keys:
            if reader.has(key):
                found[key.replace("-", "_")] = getattr(reader, kind)(key)
    filters = [tuple(words.partition(" ")[::2]) for words in reader.texts("filters", ())]
    return {**found, "filters": filters} if filters else found


def _settings(reader: TableReader) -> Dict[str, str]:
    return {key: reader.text(key) for key in reader.keys}


def _plan(reader: TableReader) -> RunPlan:
    record = reader.flag("record", False)
    sample = reader.number("sample") if reader.has("sample") else None
    return RunPlan(
        reader.text("to", ""),
        reader.amount("seconds", _MOST_SECONDS) if reader.has("seconds") else None,
        max(reader.number("times", _MOST_RUNS, 1), 1),
        reader.flag("reset", True),
        record or sample is not None,
        sample,
        reader.amount("time-limit", _MOST_SECONDS, _TIME_LIMIT),
        bool(is_accepted(reader)),
    )
