"""Lines of source files, which debug information may name in any way."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import Dict, Iterator, List, NamedTuple, Tuple

from gdb_etm.files import read_regular
from gdb_etm.session.source_folders import SourceFolders

# Bytes of a source file (those that programs write are large, too), and of those that are kept.
_MOST, _MOST_KEPT = 1 << 24, 1 << 25


class _Source(NamedTuple):
    # Size and time of change.
    stamp: Tuple[int, int]
    lines: List[str]


_kept: Dict[str, _Source] = {}
# What is read is for others' eyes, too, where there is one; the last one counts.
_limits: List[SourceFolders] = []


@contextmanager
def only_within(folders: SourceFolders) -> Iterator[None]:
    """Read no other sources in the ``with`` block."""
    _limits.append(folders)
    try:
        yield
    finally:
        _limits.pop()


def read_source(file: str, line: int) -> str:
    """Read one line of source, with its end.

    What is no UTF-8 is replaced: a file's own words about its encoding are not followed.

    :param file: As debug information names it, which may name anything.
    :param line: From 1.
    :returns: ``""`` when there is no such line, or nothing that can be read at once.
    """
    lines = read_lines(file)
    return lines[line - 1] + "\n" if 0 < line <= len(lines) else ""


def read_lines(file: str) -> List[str]:
    """Read a source file's lines, without their ends.

    :param file: As debug information names it, which may name anything.
    :returns: No line where there is nothing that can be read at once.
    """
    try:
        return [] if _limits and _limits[-1].refusal(file) else _read(file)
    except (OSError, ValueError):
        return []


def refusal(file: str) -> str:
    """Say why a file's lines are not read; empty where they are."""
    return _limits[-1].refusal(file) if _limits else ""


def _read(file: str) -> List[str]:
    state = os.stat(file)
    stamp = state.st_size, state.st_mtime_ns
    found = _kept.get(file)
    if found is None or found.stamp != stamp:
        text = read_regular(file, _MOST).decode("utf-8-sig", "replace")
        if sum(one.stamp[0] for one in _kept.values()) > _MOST_KEPT:
            # One file may have any number of names.
            _kept.clear()
        found = _kept[file] = _Source(stamp, _split(text))
    return found.lines


def _split(text: str) -> List[str]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]
