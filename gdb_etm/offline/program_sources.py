"""Sources of a program: its lines, functions and code, from ELF files."""

from __future__ import annotations

import os
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

from gdb_etm.analysis.counts import ExecutionCounts
from gdb_etm.analysis.coverage import Coverage, LinePiece, LinePlaces, cover
from gdb_etm.history.frames import Function
from gdb_etm.offline.lines import load_lines
from gdb_etm.offline.symbols import load_symbols
from gdb_etm.program.blocks import Blocks
from gdb_etm.program.code_pieces import load_code


class ProgramSources:
    """What ELF files say of a program's source.

    :param paths: The ELF files.
    :raises ImageError: One of them cannot be read.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._folders = [os.path.dirname(os.path.abspath(path)) for path in paths]
        self._files: Dict[str, str] = {}
        # Where its instructions are.
        self.code = load_code(paths)
        self._lines = load_lines(paths)
        self._symbols = load_symbols(paths)

    def function_at(self, address: int) -> Optional[Function]:
        """Find the function that holds an address."""
        return self._symbols.at(address)

    def source_of(self, address: int) -> Optional[Tuple[str, int]]:
        """Find the source file and line of an instruction."""
        line = self._lines.at(address)
        return (self._file(line.file), line.line) if line is not None else None

    def coverage(self, counts: ExecutionCounts, blocks: Blocks) -> Coverage:
        """Put counts beside the source.

        :param blocks: The program's.
        """
        return cover(counts, blocks, self.code, self._pieces(), self._symbols.functions)

    def places(self) -> LinePlaces:
        """Give the source lines by address."""
        return LinePlaces(self._pieces())

    def _pieces(self) -> Iterator[LinePiece]:
        for piece in self._lines.pieces():
            yield piece._replace(file=self._file(piece.file))

    def _file(self, file: str) -> str:
        # A relative name is looked for beside the programs, too.
        found = self._files.get(file)
        if found is None:
            tried = [file, *(os.path.normpath(os.path.join(folder, file)) for folder in self._folders)]
            found = next(filter(os.path.exists, tried), None)
            if found is None:
                # It may be there another time.
                return file
            self._files[file] = found
        return found


# What was read last, and of which files: names, times of change, sizes.
_Key = Tuple[Tuple[str, int, int], ...]
_last: List[Tuple[_Key, ProgramSources]] = []


def sources_of(paths: Sequence[str]) -> ProgramSources:
    """Give what ELF files say, read again only when one has changed.

    :raises ImageError: One of them cannot be read.
    """
    try:
        states = [(path, os.stat(path)) for path in paths]
    except OSError:
        return ProgramSources(paths)
    key = tuple((path, state.st_mtime_ns, state.st_size) for path, state in states)
    if not _last or _last[0][0] != key:
        _last[:] = [(key, ProgramSources(paths))]
    return _last[0][1]
