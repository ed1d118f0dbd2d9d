"""``gdb-etm install``: a line in gdbinit for ``source gdb_etm``."""

from __future__ import annotations

import argparse
import os
import sys
from typing import List, Mapping, NamedTuple, Optional, Sequence

from gdb_etm.errors import CommandError, EtmError

_SCRIPT = "gdb_etm"
_NOTE = '# gdb_etm: where "source gdb_etm" finds it (gdb-etm install --undo takes this out)'


class Edit(NamedTuple):
    """What becomes of a gdbinit file."""

    # Its new content.
    text: str
    changed: bool


def installed(text: str, folder: str) -> Edit:
    """Add the line for ``folder`` to a gdbinit, replacing an older one.

    :param text: What the file holds; empty when there is none.
    :param folder: The folder that holds the file ``gdb_etm``.
    """
    line = _directory_line(folder)
    if _NOTE + "\n" + line + "\n" in text:
        return Edit(text, False)
    rest = removed(text).text
    if rest and not rest.endswith("\n"):
        rest += "\n"
    return Edit(rest + _NOTE + "\n" + line + "\n", True)


def removed(text: str) -> Edit:
    """Take our lines, and nothing else, out of a gdbinit's text."""
    lines = text.splitlines(keepends=True)
    kept: List[str] = []
    ours = False
    for line in lines:
        if line.rstrip("\r\n") == _NOTE:
            ours = True
        elif ours and line.startswith("directory "):
            ours = False
        else:
            ours = False
            kept.append(line)
    return Edit("".join(kept), len(kept) != len(lines))


def gdbinit_paths(environment: Mapping[str, str], home: str, is_mac: bool = False) -> List[str]:
    """List where GDB looks for a gdbinit; it reads the first one.

    First the configuration folder's ``gdb/gdbinit`` (GDB 11 and newer), then ``~/.gdbinit``, which every GDB reads.

    :param environment: Environment variables.
    :param home: The user's home folder.
    """
    default = os.path.join(home, "Library", "Preferences") if is_mac else os.path.join(home, ".config")
    configured = os.path.join(environment.get("XDG_CONFIG_HOME") or default, "gdb", "gdbinit")
    return [configured, os.path.join(home, ".gdbinit")]


def script_folder() -> str:
    """Find the folder of the file ``gdb_etm`` that belongs to this package.

    :raises CommandError: There is none.
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    checkout = os.path.join(os.path.dirname(package), "scripts")
    for folder in (checkout, os.path.dirname(os.path.abspath(sys.executable)), os.path.dirname(sys.argv[0])):
        if os.path.isfile(os.path.join(folder, _SCRIPT)):
            return os.path.abspath(folder)
    raise CommandError("no file %s beside this package; pip install gdb_etm again" % _SCRIPT)


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Edit the gdbinit and say what was done.

    :param argv: Arguments after ``install``; None takes the process's.
    :returns: The exit status.
    """
    parser = argparse.ArgumentParser(prog="gdb-etm install", description='Make "source gdb_etm" work in GDB.')
    parser.add_argument("--undo", action="store_true", help="take out what was written")
    undo = parser.parse_args(argv).undo
    try:
        for line in _edit(undo):
            sys.stdout.write(line + "\n")
    except EtmError as error:
        sys.stderr.write("gdb-etm install: %s\n" % error)
        return 1
    except OSError as error:
        sys.stderr.write("gdb-etm install: %s: %s\n" % (error.filename, error.strerror))
        return 1
    return 0


def _edit(undo: bool) -> List[str]:
    paths = gdbinit_paths(os.environ, os.path.expanduser("~"), sys.platform == "darwin")
    if undo:
        return _undo(paths)
    path = next((path for path in paths if os.path.isfile(path)), paths[-1])
    folder = script_folder()
    edit = installed(_read(path), folder)
    line = _directory_line(folder)
    if not edit.changed:
        return ["%s already says: %s" % (path, line)]
    _write(path, edit.text)
    return ["wrote to %s: %s" % (path, line), 'now "source gdb_etm" works in GDB']


def _undo(paths: Sequence[str]) -> List[str]:
    lines = []
    for path in paths:
        edit = removed(_read(path))
        if edit.changed:
            _write(path, edit.text)
            lines.append("took the line out of %s" % path)
    return lines or ["nothing to undo in %s" % " or ".join(paths)]


def _read(path: str) -> str:
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
        return file.read()


def _write(path: str, text: str) -> None:
    # Through a link to the file itself, and whole or not at all.
    path = os.path.realpath(path)
    if not text and os.path.exists(path):
        os.remove(path)
        return
    draft = path + ".gdb_etm"
    with open(draft, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.write(text)
    if os.path.exists(path):
        os.chmod(draft, os.stat(path).st_mode)
    os.replace(draft, path)


def _directory_line(folder: str) -> str:
    # GDB splits the argument at blanks unless they are escaped.
    return "directory " + folder.replace("\\", "\\\\").replace(" ", "\\ ")
