"""The folder of Parquet files, a folder in it for each table.

A batch's files have one name in all tables.  That in ``contents`` is written last: a batch without it was not ended,
and is removed when the next analysis begins.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from typing import Any, Dict, Iterable, Iterator, List, Sequence, Set, Tuple

from gdb_etm.errors import CommandError
from gdb_etm.farm.libraries import library
from gdb_etm.farm.tables import CAPTURES, CONTENT_TABLES, CONTENTS, PROGRAM_TABLES, TABLES, FarmTable, Row, Rows

_SUFFIX = ".parquet"
# A file without rows, so that a query finds each table.
_EMPTY = "empty" + _SUFFIX
_CAPTURES = "captures" + _SUFFIX
_LOCK = ".lock"


class ParquetStore:
    """The tables in a folder.

    :param folder: Its path; it is made when absent.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._parquet = library("pyarrow.parquet")
        self._arrow = library("pyarrow")

    @contextmanager
    def open(self) -> Iterator[None]:
        """Make the folder ready; nobody else begins an analysis in it meanwhile.

        :raises CommandError: It cannot be written, or another analysis writes to it.
        """
        with _said(self.folder):
            for table in TABLES:
                os.makedirs(self._path(table.name), exist_ok=True)
            lock = open(self._path(_LOCK), "a", encoding="utf-8")
        with lock:
            _lock(lock, self.folder)
            with _said(self.folder):
                self._remove_halves()
                for table in TABLES:
                    if not os.path.exists(self._path(table.name, _EMPTY)):
                        self._write(table, _EMPTY, [])
            yield

    def done(self) -> Set[str]:
        """Give the analyses whose rows are there."""
        return {str(one["analysis"]) for one in self._rows(CONTENTS, ["analysis"])}

    def has_program(self, program: str) -> bool:
        """Whether a program's tables are there; its branches come last."""
        return os.path.exists(self._path(PROGRAM_TABLES[-1].name, program + _SUFFIX))

    def write_program(self, program: str, rows: Rows) -> None:
        """Write a program's tables.

        :raises CommandError: They cannot be written.
        """
        self._write_all(PROGRAM_TABLES, program, rows)

    def write_batch(self, name: str, rows: Rows) -> None:
        """Write a batch's tables; that of the contents last.

        :raises CommandError: They cannot be written.
        """
        self._write_all(CONTENT_TABLES, name, rows)

    def write_captures(self, found: Dict[str, Dict[str, Any]]) -> None:
        """Write the table of captures; those of others stay.

        :param found: Columns by path; those of an analysis that is there are filled in.
        """
        facts = {one["analysis"]: one for one in self._rows(CONTENTS)}
        known = {one["path"]: one for one in self._rows(CAPTURES)}
        known.update((path, {**facts.get(one["analysis"], {}), **one, "path": path}) for path, one in found.items())
        names = [column.name for column in CAPTURES.columns]
        rows = [tuple([one.get(name) for name in names]) for _, one in sorted(known.items())]
        with _said(self.folder):
            self._write(CAPTURES, _CAPTURES, rows)

    def reasons(self) -> List[Tuple[str, str]]:
        """List the captures that could not be analysed, each with the reason."""
        found = self._rows(CAPTURES, ["path", "reason"])
        return [(one["path"], one["reason"]) for one in found if one["reason"]]

    def tables(self, table: FarmTable, columns: Sequence[str]) -> Iterator[Any]:
        """Read columns of a table, as an Arrow table for each file."""
        for path in self._files(table):
            yield self._parquet.read_table(path, columns=list(columns))

    def _rows(self, table: FarmTable, columns: Sequence[str] = ()) -> Iterator[Dict[str, Any]]:
        for path in self._files(table):
            yield from self._parquet.read_table(path, columns=list(columns) or None).to_pylist()

    def _files(self, table: FarmTable) -> List[str]:
        return [self._path(table.name, name) for name in self._names(table)]

    def _names(self, table: FarmTable) -> List[str]:
        return sorted(name for name in os.listdir(self._path(table.name)) if name.endswith(_SUFFIX))

    def _remove_halves(self) -> None:
        whole = set(self._names(CONTENTS))
        for table in CONTENT_TABLES:
            for name in os.listdir(self._path(table.name)):
                if name not in whole and name != _EMPTY:
                    os.unlink(self._path(table.name, name))

    def _write_all(self, tables: Iterable[FarmTable], name: str, rows: Rows) -> None:
        with _said(self.folder):
            for table in tables:
                found = rows.get(table.name, [])
                if found or table is CONTENTS or table is PROGRAM_TABLES[-1]:
                    self._write(table, name + _SUFFIX, found)

    def _write(self, table: FarmTable, name: str, rows: Sequence[Row]) -> None:
        kinds = {"string": self._arrow.string(), "int64": self._arrow.int64(), "uint64": self._arrow.uint64()}
        schema = self._arrow.schema([(column.name, kinds[column.kind]) for column in table.columns])
        columns = [list(column) for column in zip(*rows)] if rows else [[] for _ in table.columns]
        arrays = [self._arrow.array(values, kinds[one.kind]) for values, one in zip(columns, table.columns)]
        made = self._arrow.Table.from_arrays(arrays, schema=schema)
        # Whoever reads meanwhile sees all of it or nothing; the name ends otherwise until then.
        handle, part = tempfile.mkstemp(dir=self._path(table.name), prefix=name + ".")
        os.close(handle)
        try:
            self._parquet.write_table(made, part, compression="zstd")
            os.chmod(part, 0o666 & ~_umask())
            os.replace(part, self._path(table.name, name))
        except BaseException:
            os.unlink(part)
            raise

    def _path(self, *names: str) -> str:
        return os.path.join(self.folder, *names)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


@contextmanager
def _said(folder: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CommandError("cannot write %s: %s" % (error.filename or folder, error.strerror or error)) from error


def _lock(file: Any, folder: str) -> None:
    try:
        import fcntl
    except ImportError:
        return  # a system without such locks
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise CommandError("another analysis writes to %s; wait, or choose another --out" % folder) from error
