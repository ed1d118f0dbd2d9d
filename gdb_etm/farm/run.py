"""An analysis from paths to tables.

First all captures are hashed, then those contents are analysed whose rows are not there yet.  Both go to the workers in
batches, of which the scheduler knows few at a time.
"""

from __future__ import annotations

import os
from functools import reduce
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.errors import CommandError
from gdb_etm.farm.cluster import DaskClient, LostTask, cluster, run_all
from gdb_etm.farm.identity import analysis_of, program_of, version_here
from gdb_etm.farm.measure import Facts, FarmProgram, Subject, TraceStream
from gdb_etm.farm.samples import ProgramSamples, check_name, write_samples
from gdb_etm.farm.store import ParquetStore
from gdb_etm.farm.work import Assignment, Identified, analyse, conclude, identify
from gdb_etm.session.progress import Meter
from gdb_etm.snapshot.folder import ROOT_FILE
from gdb_etm.views.text import plural

# Captures in a batch, at most, and batches for each worker, at least.
_BATCH = 128
_BATCHES = 8
_HASHED = 256
# Scheduler's rule: a task is given up when its worker died more than three times.
DIED = "the process that analysed it died again and again: it was killed, or out of memory"


class FarmRequest(NamedTuple):
    """What to analyse, and where."""

    # Snapshot folders, folders that hold some, and dumps.
    paths: Sequence[str]
    # ELF files.
    files: Sequence[str]
    # Where the tables go.
    folder: str
    # Of a scheduler; None: processes of this computer, so many of them, or one for each processor.
    address: Optional[str] = None
    workers: Optional[int] = None
    # A profile for a compiler, of these captures; None: none.
    samples: Optional[str] = None
    # Bytes of a snapshot whose trace streams are analysed one by one; None: as :class:`Assignment` says.
    large: Optional[int] = None


class FarmResult(NamedTuple):
    """What an analysis has done."""

    captures: int
    # Contents that were analysed now, and those whose rows were there before.
    analysed: int
    before: int
    # Captures that could not be analysed, each with the reason.
    bad: Sequence[Tuple[str, str]]
    # The format of the profile that was written; empty: none.
    samples: str = ""


def run_farm(request: FarmRequest, meter: Meter) -> FarmResult:
    """Analyse captures.

    Interrupted, it keeps what is done; the next run goes on.

    :raises CommandError: It cannot begin, or the tables cannot be written.
    """
    if request.samples is not None:
        check_name(request.samples)
    paths = captures_in(request.paths)
    with cluster(request.address, request.workers) as client:
        return run_on(client, request, paths, meter)


def run_on(client: DaskClient, request: FarmRequest, paths: Sequence[str], meter: Meter) -> FarmResult:
    """Analyse captures on a cluster.

    :param paths: The captures themselves.
    :raises CommandError: As for :func:`run_farm`.
    """
    files = tuple(os.path.abspath(path) for path in request.files)
    store = ParquetStore(os.path.abspath(request.folder))
    with store.open():
        identity = program_of(files)
        program = FarmProgram(files, identity)
        if not store.has_program(identity):
            store.write_program(identity, program.rows())
        assignment = Assignment(store.folder, files, identity, version_here())
        if request.large is not None:
            assignment = assignment._replace(large=request.large)
        run = _Run(store, assignment, program, client, meter)
        result = run.run(paths)
        if request.samples is None:
            return result
        samples = ProgramSamples(store, files, run.analyses)
        return result._replace(samples=write_samples(samples, request.samples))


def captures_in(paths: Sequence[str]) -> List[str]:
    """Find the captures that paths name, each once.

    :raises CommandError: There is no such path, or no snapshot in a folder.
    """
    found: Dict[str, None] = {}
    for path in paths:
        whole = os.path.abspath(path)
        if not os.path.isdir(whole):
            if not os.path.exists(whole):
                raise CommandError("no file or folder %s" % path)
            found[whole] = None
            continue
        inside = list(_snapshots(whole))
        if not inside:
            raise CommandError("%s holds no snapshot: no folder with a file %s" % (path, ROOT_FILE))
        found.update(dict.fromkeys(inside))
    return list(found)


def _snapshots(folder: str) -> Iterator[str]:
    for path, folders, names in os.walk(folder):
        folders.sort()
        if ROOT_FILE in names:
            folders.clear()
            yield path


class _Run:
    def __init__(
        self, store: ParquetStore, assignment: Assignment, program: FarmProgram, client: DaskClient, meter: Meter
    ) -> None:
        self._store = store
        self._assignment = assignment
        self._program = program
        self._client = client
        self._meter = meter
        # By path: columns of the table of captures.
        self._captures: Dict[str, Dict[str, Any]] = {}
        self._done: Set[str] = store.done()
        # The trace streams of large ones, by analysis; None where one is not known yet.
        self._units: Dict[str, Dict[TraceStream, Optional[Facts]]] = {}

    def run(self, paths: Sequence[str]) -> FarmResult:
        try:
            self._identify(paths)
            todo = self._todo()
            self._analyse(todo)
        finally:
            ended = {path: one for path, one in self._captures.items() if self._is_ended(one)}
            self._store.write_captures(ended)
        bad = [(path, reason) for path, reason in self._store.reasons() if path in self._captures]
        return FarmResult(len(paths), len(todo), len(self.analyses) - len(todo), bad)

    @property
    def analyses(self) -> Set[str]:
        """What the captures' contents are known by."""
        return {one["analysis"] for one in self._captures.values() if one["analysis"]}

    def _is_ended(self, columns: Dict[str, Any]) -> bool:
        return not columns["analysis"] or columns["analysis"] in self._done

    def _identify(self, paths: Sequence[str]) -> None:
        pieces = [tuple(paths[at : at + _HASHED]) for at in range(0, len(paths), _HASHED)]
        with self._meter.task("reading %s" % plural(len(paths), "capture"), len(paths)) as task:
            for ended in run_all(self._client, identify, ((self._assignment, piece) for piece in pieces)):
                piece = ended.arguments[1]
                died = [Identified("", DIED)] * len(piece)
                found: Sequence[Identified] = died if isinstance(ended, LostTask) else ended.result
                for path, one in zip(piece, found):
                    self._captures[path] = self._columns(one.content, one.reason)
                    if one.units:
                        self._units[self._captures[path]["analysis"]] = dict.fromkeys(one.units)
                task.advance(len(piece))

    def _columns(self, content: str, reason: str) -> Dict[str, Any]:
        program = self._assignment.program
        if reason:
            return {"content": "", "analysis": "", "program": program, "reason": reason}
        return {"content": content, "analysis": analysis_of(content, program, self._assignment.version)}

    def _todo(self) -> List[Subject]:
        # By the paths' order, so that the same captures make the same batches.
        found: Dict[str, Subject] = {}
        for path, one in sorted(self._captures.items()):
            if one["analysis"] and one["analysis"] not in self._done:
                found.setdefault(one["analysis"], Subject(path, one["content"], one["analysis"]))
        return list(found.values())

    def _analyse(self, todo: Sequence[Subject]) -> None:
        threads = max(sum(self._client.nthreads().values()), 1)
        size = min(max(len(todo) // (threads * _BATCHES), 1), _BATCH)
        large = [one for one in todo if one.analysis in self._units]
        small = [one for one in todo if one.analysis not in self._units]
        batches: List[Tuple[Subject, ...]] = [
            (one._replace(unit=unit),) for one in large for unit in self._units[one.analysis]
        ]
        batches += [tuple(small[at : at + size]) for at in range(0, len(small), size)]
        with self._meter.task("analysing %s" % plural(len(todo), "capture"), len(todo)) as task:
            while batches:
                again: List[Tuple[Subject, ...]] = []
                for ended in run_all(self._client, analyse, ((self._assignment, batch) for batch in batches)):
                    batch: Tuple[Subject, ...] = ended.arguments[1]
                    lost = isinstance(ended, LostTask)
                    if lost and len(batch) > 1:
                        # One of them is to blame; the others are analysed by themselves.
                        again += [(subject,) for subject in batch]
                        continue
                    if batch[0].unit is not None:
                        facts = Facts(reason=DIED) if isinstance(ended, LostTask) else ended.result[0]
                        if not self._has_all(batch[0], facts):
                            continue
                    elif lost:
                        conclude(self._assignment, self._program, batch[0], Facts(reason=DIED))
                    self._done.update(subject.analysis for subject in batch)
                    task.advance(len(batch))
                batches = again

    def _has_all(self, subject: Subject, facts: Facts) -> bool:
        # Whether a trace stream was the last of its capture, whose row is written then.
        units = self._units[subject.analysis]
        assert subject.unit is not None
        units[subject.unit] = facts
        known = [one for one in units.values() if one is not None]
        if len(known) < len(units):
            return False
        conclude(self._assignment, self._program, subject._replace(unit=None), reduce(Facts.joined, known))
        return True
