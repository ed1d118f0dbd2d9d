"""This GDB's command line and symbol files, for a second GDB."""

from __future__ import annotations

import os
import re
import shutil
from typing import Dict, List

import gdb

from gdb_etm.errors import ConnectError, ImageError
from gdb_etm.program.elf import open_elf
from gdb_etm.session.places import SymbolFile

_SECTION = re.compile(r"\s*0x([0-9a-f]+) - 0x[0-9a-f]+ is (\S+)(?: in (.+))?$")
_SELF = "/proc/self/exe"
_LOADER = re.compile(r"ld(-linux.*|64)?\.so|ld-.*\.so")
_NAMES = ("gdb-multiarch", "arm-none-eabi-gdb", "gdb")


def gdb_command() -> List[str]:
    """Find the command line that starts this GDB's program again.

    :raises ConnectError: It cannot be found.
    """
    # GDB 10 gives its data directory only if somebody has set it.
    folder = gdb.parameter("data-directory") or os.path.dirname(gdb.PYTHONDIR)
    return [*_executable(), "--data-directory", folder]


def _executable() -> List[str]:
    if os.path.exists(_SELF):
        path = os.path.realpath(_SELF)
        return [path] if _LOADER.match(os.path.basename(path)) is None else _loaded(path)
    for name in _NAMES:
        found = shutil.which(name)
        if found is not None:
            return [found]
    raise ConnectError("found no GDB to print values of the past with; there was none of: %s" % ", ".join(_NAMES))


def _loaded(loader: str) -> List[str]:
    # A wrapper may have the system's loader run GDB: then that is the process's executable, and GDB its argument.
    with open("/proc/self/cmdline", "rb") as stream:
        words = [os.fsdecode(word) for word in stream.read().split(b"\0")]
    for number, word in enumerate(words[1:], 1):
        if os.path.isfile(word) and os.access(word, os.X_OK):
            return [loader, *words[1:number], word]
    raise ConnectError('%s runs this GDB, but not by its name; "set etm gdb PATH" names it' % loader)


def symbol_files() -> List[SymbolFile]:
    """List the files that GDB has symbols of, without separate debug files."""
    program = gdb.current_progspace().filename
    found = [one.filename for one in gdb.objfiles() if one.owner is None and os.path.isfile(one.filename or "")]
    now = _first_sections(program or "")
    return [SymbolFile(path, _offset(path, now.get(path, {})), path == program) for path in found]


def _first_sections(program: str) -> Dict[str, Dict[str, int]]:
    # Where sections are, by file and name: GDB's Python does not tell.
    found: Dict[str, Dict[str, int]] = {}
    for line in gdb.execute("info files", False, True).splitlines():
        row = _SECTION.match(line)
        if row is not None:
            found.setdefault(row.group(3) or program, {}).setdefault(row.group(2), int(row.group(1), 16))
    return found


def _offset(path: str, sections: Dict[str, int]) -> int:
    try:
        with open_elf(path) as elf:
            for section in elf.iter_sections():
                if section.name in sections and section["sh_addr"] is not None:
                    return int(sections[section.name] - section["sh_addr"]) & 0xFFFFFFFF
    except ImageError:
        pass  # GDB could read it; its own addresses are then the best there is
    return 0
