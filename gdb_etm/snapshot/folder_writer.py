"""Atomic writer of a snapshot's folder: all files or none.

The root file is renamed into its place at the end.

The files of a snapshot that is there stay until then, so that whatever goes wrong, and whenever, there is a whole
snapshot: the old one, or the new one.  Files of other names are the user's own, and stay.
"""

from __future__ import annotations

import os
from typing import List, Mapping

from gdb_etm.errors import SnapshotError
from gdb_etm.snapshot.folder import ROOT_FILE, Folder
from gdb_etm.snapshot.reader import read_folder

_DRAFT = "snapshot.new"


def put_files(path: str, files: Mapping[str, bytes], replace: bool = False) -> List[str]:
    """Write files, sync them, and rename ``snapshot.ini`` into place.

    :param path: The folder; it is made where there is none.
    :param files: By name; none but ``snapshot.ini`` is there.
    :param replace: Whether a snapshot that is there gives way.
    :returns: The paths of the files.
    :raises SnapshotError: One cannot be written; the folder is as it was before.
    """
    root = os.path.join(path, ROOT_FILE)
    if os.path.lexists(root) and not replace:
        raise SnapshotError("there is a snapshot already; only -f replaces it", path)
    old = _files_of(path) if replace else []
    draft = os.path.join(path, _DRAFT)
    made: List[str] = []
    written: List[str] = []
    is_written = False
    try:
        _make_folder(path, made)
        if os.path.lexists(draft):
            os.unlink(draft)  # of a save that was killed
        for name, data in files.items():
            written.append(draft if name == ROOT_FILE else os.path.join(path, name))
            _write(written, data)
        _synchronise(path)
        is_written = True
        os.replace(draft, root)
    except BaseException as error:
        # An interruption may come when all is done.
        if not is_written or os.path.lexists(draft):
            _take_back(written, made)
        if isinstance(error, OSError):
            raise SnapshotError(error.strerror or str(error), error.filename or path) from error
        raise
    _take_back([os.path.join(path, name) for name in old if name not in files], [])
    _synchronise(path)
    return [os.path.join(path, name) for name in files]


def _files_of(path: str) -> List[str]:
    # What a snapshot is made of; one that cannot be read is left but for what was found of it.
    try:
        folder = Folder(path)
    except SnapshotError:
        return []
    try:
        read_folder(folder)
    except SnapshotError:
        pass
    return folder.names


def _make_folder(path: str, made: List[str]) -> None:
    # As makedirs does, keeping account of what is new, the innermost last.
    if os.path.isdir(path):
        return
    parent = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(parent):
        _make_folder(parent, made)
    os.mkdir(path)
    made.append(path)


def _write(written: List[str], data: bytes) -> None:
    try:
        file = os.open(written[-1], os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    except OSError:
        written.pop()  # it is somebody else's
        raise
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file, rest) :]
        os.fsync(file)
    except OSError as error:
        error.filename = written[-1]
        raise
    finally:
        os.close(file)


def _synchronise(path: str) -> None:
    # The names, too, reach the disk, where the system lets one ask for that.
    try:
        folder = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(folder)
    except OSError:
        pass
    finally:
        os.close(folder)


def _take_back(files: List[str], folders: List[str]) -> None:
    for path in files:
        try:
            os.unlink(path)
        except OSError:
            continue  # there is nothing better to be done about it
    for path in reversed(folders):
        try:
            os.rmdir(path)
        except OSError:
            continue
