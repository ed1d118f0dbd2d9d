"""What a worker does: hash captures, and analyse a batch of them."""

from __future__ import annotations

import socket
from functools import lru_cache
from typing import List, NamedTuple, Tuple

from gdb_etm.errors import CommandError, EtmError
from gdb_etm.farm.identity import content_of, program_of, short, version_here
from gdb_etm.farm.measure import FarmProgram, Subject, bad_rows, measure
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


def identify(assignment: Assignment, paths: Tuple[str, ...]) -> List[Tuple[str, str]]:
    """Hash captures.

    :returns: For each its content's hash and an empty reason, or an empty hash and why it cannot be read.
    """
    _check(assignment)
    found: List[Tuple[str, str]] = []
    for path in paths:
        try:
            found.append((content_of(path), ""))
        except EtmError as error:
            found.append(("", str(error)))
    return found


def analyse(assignment: Assignment, batch: Tuple[Subject, ...]) -> int:
    """Analyse captures and write their rows.

    :returns: How many they are.
    """
    _check(assignment)
    program = _program(assignment.files, assignment.program)
    rows: Rows = {}
    for subject in batch:
        _add(rows, measure(program, subject))
    ParquetStore(assignment.folder).write_batch(batch_name(batch), rows)
    return len(batch)


def give_up(assignment: Assignment, program: FarmProgram, subject: Subject, reason: str) -> None:
    """Write the row of a capture that no worker survives."""
    ParquetStore(assignment.folder).write_batch(batch_name((subject,)), bad_rows(program, subject, reason))


def batch_name(batch: Tuple[Subject, ...]) -> str:
    """Name a batch by its content: done twice it is written once."""
    return short(*(subject.analysis for subject in batch))


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
