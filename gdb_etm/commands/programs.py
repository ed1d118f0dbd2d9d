"""The program files that a command names, and whether they are the program that a snapshot tells of."""

from __future__ import annotations

import os
from typing import Iterable, List

from gdb_etm.errors import CommandError


def named_files(paths: Iterable[str]) -> List[str]:
    """Give the files after ``--elf`` with their whole paths.

    :raises CommandError: One of them is not there.
    """
    found = [os.path.abspath(path) for path in paths]
    for path in found:
        if not os.path.exists(path):
            raise CommandError("--elf: no file %s" % path)
    return found
