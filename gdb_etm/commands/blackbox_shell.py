"""``gdb-etm blackbox``: the black box's C files, written out."""

from __future__ import annotations

import argparse
import os
from typing import Sequence

from gdb_etm.errors import CommandError
from gdb_etm.files import read_regular, through_own_links
from gdb_etm.views.schema import add_format, document, document_lines

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "firmware")
_FILES = ("etm_blackbox.h", "etm_blackbox.c")
_LARGEST = 1 << 16


def main(words: Sequence[str]) -> int:
    """Write the files.

    :returns: The exit status.
    :raises EtmError: It cannot be done.
    """
    about = "write the C files that a program is linked with to keep its trace at a crash; the header says how"
    parser = argparse.ArgumentParser(prog="gdb-etm blackbox", description=about)
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="where to; it is made if needed")
    parser.add_argument("-f", "--force", action="store_true", help="replace files that are there")
    add_format(parser)
    arguments = parser.parse_args(words)
    paths = _written(arguments.output, arguments.force)
    is_text = arguments.format == "text"
    print("\n".join(paths if is_text else document_lines(document("blackbox", {"written": paths}), arguments.format)))
    return 0


def _written(folder: str, replace: bool) -> Sequence[str]:
    paths = [os.path.join(folder, name) for name in _FILES]
    try:
        contents = [read_regular(os.path.join(_FOLDER, name), _LARGEST) for name in _FILES]
        os.makedirs(folder, exist_ok=True)
        for path, content in zip(paths, contents):
            if os.path.lexists(path) and not replace and read_regular(path, _LARGEST) != content:
                raise CommandError("%s is there, and is another file; -f replaces it" % path)
        for path, content in zip(paths, contents):
            with open(path, "wb", opener=through_own_links) as file:
                file.write(content)
    except OSError as error:
        raise CommandError("%s: %s" % (error.filename or folder, error.strerror or error))
    return paths
