"""Search for the Python that gdb_etm was installed in, for pyOCD."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import sys


def interpreter() -> str:
    """Find the interpreter of the environment that our dependencies are in.

    Inside GDB ``sys.executable`` says nothing of use; the folder of a dependency, such as
    ``VENV/lib/python3.11/site-packages/elftools``, does.
    """
    found = importlib.util.find_spec("elftools")
    if found is None or not found.origin:
        return sys.executable
    libraries = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(found.origin))))
    binaries = os.path.join(os.path.dirname(os.path.dirname(libraries)), "bin")
    version = os.path.basename(libraries)
    if not re.match(r"python3(\.\d+)?\Z", version):
        return sys.executable
    for name in (version, "python3", "python"):
        if os.access(os.path.join(binaries, name), os.X_OK):
            return os.path.join(binaries, name)
    return shutil.which(version) or shutil.which("python3") or sys.executable
