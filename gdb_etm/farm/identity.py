"""Hashes of captures, of programs, and of what analyses them."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from pathlib import Path
from typing import Iterator, Sequence, Tuple

from gdb_etm import __version__
from gdb_etm.errors import CommandError, ImageError
from gdb_etm.farm.tables import SCHEMA
from gdb_etm.files import open_regular
from gdb_etm.program.elf import open_elf

# Of a capture's file.
_MOST = 1 << 40
_PIECE = 1 << 20
# Bytes of a hash: two of a billion contents are alike once in 10**20 fleets.
_SIZE = 16
# What decides the tables' content, in the package.
_DECIDING: Sequence[str] = (
    *("analysis", "capture.py", "diagnosis", "dumps", "farm", "framing", "history", "offline", "program"),
    *("protocols", "recovery", "session", "snapshot"),
)


def content_of(path: str) -> Tuple[str, int]:
    """Hash a capture: a snapshot's files with their names, or a dump.

    :returns: The hash, and how many bytes there are.
    :raises CommandError: It cannot be read.
    """
    digest, size = _new(), 0
    try:
        if os.path.isdir(path):
            for name, file in _files(path):
                digest.update(b"%d %s\0" % (len(name), os.fsencode(name)))
                size += _add_file(digest, file)
        else:
            size = _add_file(digest, path)
    except OSError as error:
        raise CommandError("cannot read %s: %s" % (error.filename or path, error.strerror or error)) from error
    return digest.hexdigest(), size


def program_of(files: Sequence[str]) -> str:
    """Hash ELF files.

    :raises CommandError: One of them cannot be read.
    """
    digest = _new()
    for file in files:
        try:
            _add_file(digest, file)
        except OSError as error:
            raise CommandError("cannot read %s: %s" % (file, error.strerror or error)) from error
    return digest.hexdigest()


def analysis_of(content: str, program: str, version: str) -> str:
    """Hash what decides an analysis' rows."""
    return short(content, program, version)


def short(*texts: str) -> str:
    """Hash texts."""
    digest = _new()
    for text in texts:
        digest.update(b"%d %s\0" % (len(text), text.encode("utf-8", "surrogateescape")))
    return digest.hexdigest()


@lru_cache(maxsize=1)
def version_here() -> str:
    """Name the tables' schema and the decoders of this gdb_etm."""
    root = Path(__file__).resolve().parents[1]
    digest = _new()
    for name in _DECIDING:
        for file in sorted([root / name] if name.endswith(".py") else (root / name).rglob("*.py")):
            digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes())
    return "%s schema %d %s" % (__version__, SCHEMA, digest.hexdigest())


def build_id(files: Sequence[str]) -> str:
    """Give the first build-id of some ELF files; empty without one.

    It is the note NT_GNU_BUILD_ID, which a linker writes with ``--build-id``.
    """
    for path in files:
        try:
            with open_elf(path) as elf:
                for section in elf.iter_sections("SHT_NOTE"):
                    for note in section.iter_notes():
                        if note["n_type"] == "NT_GNU_BUILD_ID":
                            return str(note["n_desc"])
        except ImageError:
            continue  # what reads it for its code says why
    return ""


def _files(folder: str) -> Iterator[Tuple[str, str]]:
    for path, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            file = os.path.join(path, name)
            yield os.path.relpath(file, folder), file


def _new() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=_SIZE)


def _add_file(digest: hashlib.blake2b, path: str) -> int:
    # Gives its size.
    with open_regular(path, _MOST) as file:
        size = os.fstat(file.fileno()).st_size
        digest.update(b"%d " % size)
        while True:
            piece = file.read(_PIECE)
            if not piece:
                return size
            digest.update(piece)
