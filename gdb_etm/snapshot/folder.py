"""Reader of a snapshot's files, confined to its folder, sizes bounded.

A snapshot comes from somebody else.  The bounds are far above what real ones have: some dozens of devices and dumps, a
thousand lines, a buffer of megabytes.
"""

from __future__ import annotations

import os
import stat
from typing import Dict, List, Optional, Tuple

from gdb_etm.errors import SnapshotError
from gdb_etm.files import RegularFile, open_regular, size_of
from gdb_etm.snapshot.ini import IniEntry, IniFile, parse_ini

ROOT_FILE = "snapshot.ini"

# The most that is read from one folder, in bytes: far more than any trace buffer with its program.
MAX_BYTES = 1 << 30
# Pieces of memory, and trace buffers, that are read from one folder.
MAX_DUMPS = 1 << 12
_MAX_INI_BYTES = 1 << 22
# Lines of all ini files.
_MAX_LINES = 1 << 17

_MAGIC = (
    (b"\x7fELF", "it is an ELF file, and no snapshot folder; name it with --elf, after the folder"),
    (b"PERFILE2", "it is a recording of Linux perf, and no snapshot folder; trace in it is read by perf and OpenCSD"),
    (b"PK\x03\x04", "it is a zip archive; unpack it, and name the folder in which there is snapshot.ini"),
    (b"\x1f\x8b", "it is packed by gzip; unpack it, and name the folder in which there is snapshot.ini"),
    (b"[", "it is one file of a snapshot; name its folder, in which there is snapshot.ini"),
)
_RAW = "it is a file of %d bytes, and no snapshot folder; a trace buffer alone does not say which unit wrote it"


class MissingFile(SnapshotError):
    """A file that the snapshot names is not there."""


class Folder:
    """A snapshot's folder.

    :param path: The folder, or the ``snapshot.ini`` in it.
    :raises SnapshotError: It is something else; the message says what.
    """

    def __init__(self, path: str) -> None:
        if os.path.basename(path) == ROOT_FILE:
            path = os.path.dirname(path) or "."
        _check_folder(path)
        self.path = path
        # What files held when they were written, by their names, as far as the snapshot says it.
        self.sizes: Dict[str, int] = {}
        # Of the files that were opened.
        self.names: List[str] = []
        self._root = os.path.realpath(path)
        self._bytes_left = MAX_BYTES
        self._dumps_left = MAX_DUMPS
        self._lines_left = _MAX_LINES
        self._parts: Dict[Tuple[str, int, int], bytes] = {}

    def ini(self, name: str, origin: Optional[IniEntry] = None) -> IniFile:
        """Read an ini file.

        :param origin: Where it is named.
        :raises SnapshotError: It cannot be read.
        """
        path = os.path.join(self.path, name)
        with self._open(name, origin, _MAX_INI_BYTES) as file:
            data = file.read()
        self._lines_left -= data.count(b"\n")
        if self._lines_left < 0:
            raise SnapshotError("more than %d lines in the ini files" % _MAX_LINES, path)
        # Editors of Windows begin a file with a mark of its encoding.
        return parse_ini(data.decode("utf-8-sig", "replace"), path)

    def binary(self, origin: IniEntry, offset: int = 0, length: int = 0) -> Tuple[str, bytes]:
        """Read a piece of a dump, once for all that name it.

        :param origin: The entry that names the file.
        :param offset: Its first byte.
        :param length: In bytes; 0 means to the end of the file, as it does for OpenCSD.
        :returns: The file's path, and the bytes.
        :raises SnapshotError: It cannot be read, or the file holds less.
        """
        self._dumps_left -= 1
        if self._dumps_left < 0:
            raise origin.error("more than %d dumps in all" % MAX_DUMPS)
        path = os.path.join(self.path, origin.value)
        with self._open(origin.value, origin) as file:
            size = size_of(file)
            if offset > size or length > size - offset:
                raise origin.error("%d bytes from offset %d: the file holds %d" % (length, offset, size))
            length = length or size - offset
            key = (path, offset, length)
            if key not in self._parts:
                if length > self._bytes_left:
                    raise origin.error("more than %d bytes in all" % MAX_BYTES)
                self._bytes_left -= length
                file.seek(offset)
                self._parts[key] = file.read(length)
        return path, self._parts[key]

    def _open(self, name: str, origin: Optional[IniEntry], most: int = 1 << 62) -> RegularFile:
        path = self._inside(name, origin)
        try:
            file = open_regular(path, most)
        except FileNotFoundError:
            raise _error(MissingFile, "no such file", name, origin, self.path) from None
        except (OSError, ValueError) as error:  # a name that no file can have
            message = getattr(error, "strerror", None) or str(error)
            raise _error(SnapshotError, message, name, origin, self.path) from None
        expected = self.sizes.get(name)
        size = size_of(file)
        if expected is not None and expected != size:
            file.close()
            message = "it holds %d bytes, and held %d when it was saved: it was cut, or changed" % (size, expected)
            raise _error(SnapshotError, message, name, origin, self.path)
        if name not in self.names:
            self.names.append(name)
        return file

    def _inside(self, name: str, origin: Optional[IniEntry]) -> str:
        # Where a file really is, links followed.
        is_inside = not os.path.isabs(name) and os.pardir not in name.replace("\\", "/").split("/")
        path = os.path.realpath(os.path.join(self._root, name)) if is_inside else ""
        if not path or os.path.commonpath([self._root, path]) != self._root:
            message = "%r leads out of the snapshot folder" % name
            raise origin.error(message) if origin is not None else SnapshotError(message, self.path)
        return path


def _error(kind: type, message: str, name: str, origin: Optional[IniEntry], folder: str) -> SnapshotError:
    # Of a file: with the line that names it, where there is one.
    if origin is None:
        made: SnapshotError = kind(message, os.path.join(folder, name))
    else:
        made = kind("%s: %s" % (name, message), origin.path, origin.line)
    return made


def _check_folder(path: str) -> None:
    try:
        state = os.stat(path)
    except OSError:
        return  # nothing there: the first file that is looked for says so
    if stat.S_ISDIR(state.st_mode):
        return
    try:
        with open_regular(path, 1 << 62) as file:
            head = file.read(8)
    except OSError as error:
        raise SnapshotError(error.strerror or str(error), path) from None
    found = next((words for magic, words in _MAGIC if head.startswith(magic)), _RAW % state.st_size)
    raise SnapshotError(found, path)
