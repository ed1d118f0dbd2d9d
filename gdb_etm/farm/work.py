"""What a worker does: hash captures, and analyse a batch of them."""

from __future__ import annotations

import os
import socket
from functools import lru_cache
from typing import List, NamedTuple, Tuple

from gdb_etm.errors import CommandError, EtmError
from gdb_etm.farm.identity import content_of, program_of, short, version_here
from gdb_etm.farm.measure import Facts, FarmProgram, Subject, TraceStream, measure, trace_streams
from gdb_etm.farm.store import ParquetStore
from gdb_etm.farm.tables import Rows


class Assignment(NamedTuple):
    """What all batches of an analysis share."""

    # Where the tables are.
    folder: str
    # The ELF files, and the hash of them.
    files: Tuple[str, ...]
    program: str
    # Of the gdb_etm that began the analysis.
    version: str
    # Bytes of a snapshot whose trace streams are analysed one by one.
    large: int = 64 << 20


class Identified(NamedTuple):
    """What a capture is known by."""

    # Its hash; empty where it cannot be read.
    content: str
    # Why it cannot be read.
    reason: str = ""
    # The trace streams of a large one.
    units: Tuple[TraceStream, ...] = ()


def identify(assignment: Assignment, paths: Tuple[str, ...]) -> List[Identified]:
    """Hash captures, in their order."""
    _check(assignment)
    return [_identified(assignment, path) for path in paths]


def _identified(assignment: Assignment, path: str) -> Identified:
    try:
        content, size = content_of(path)
    except EtmError as error:
        return Identified("", str(error))
    if size <= assignment.large or not os.path.isdir(path):
        return Identified(content)
    try:
        units = trace_streams(path, assignment.files)
    except EtmError:
        return Identified(content)  # who analyses it says why
    return Identified(content, "", tuple(units) if len(units) > 1 else ())


def analyse(assignment: Assignment, batch: Tuple[Subject, ...]) -> List[Facts]:
    """Analyse captures, or a trace stream of one, and write their rows.

    :returns: What is known of each.
    """
    _check(assignment)
    program = _program(assignment.files, assignment.program)
    rows: Rows = {}
    found: List[Facts] = []
    for subject in batch:
        more, facts = measure(program, subject)
        _add(rows, more)
        if subject.unit is None:
            _add(rows, facts.rows(program, subject))
        found.append(facts)
    ParquetStore(assignment.folder).write_batch(batch_name(batch), rows)
    return found


def conclude(assignment: Assignment, program: FarmProgram, subject: Subject, facts: Facts) -> None:
    """Write the row of a capture, its last or its only one."""
    ParquetStore(assignment.folder).write_batch(batch_name((subject,)), facts.rows(program, subject))


def batch_name(batch: Tuple[Subject, ...]) -> str:
    """Name a batch by its content: done twice it is written once."""
    return short(*(subject.name for subject in batch))


@lru_cache(maxsize=1)
def _program(files: Tuple[str, ...], identity: str) -> FarmProgram:
    if program_of(files) != identity:
        raise CommandError("%s: %s is another file than where the analysis began" % (socket.gethostname(), files[0]))
    return FarmProgram(files, identity)


def _check(assignment: Assignment) -> None:
    if version_here() != assignment.version:
        words = "the worker on %s has gdb_etm %s, the analysis began with %s; install the same on all"
        raise CommandError(words % (socket.gethostname(), version_here(), assignment.version))


def _add(rows: Rows, more: Rows) -> None:
    for table, found in more.items():
        rows.setdefault(table, []).extend(found)
