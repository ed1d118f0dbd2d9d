"""The version of the GDB under test, and its wording."""

from __future__ import annotations

import re
import subprocess
from functools import lru_cache
from typing import List

import pytest


def no_reverse() -> str:
    """What GDB says where the target cannot go back."""
    if gdb_version() >= 18:
        return "Reverse execution is not currently supported."
    return "Target extended-remote does not support this command."


@lru_cache(maxsize=None)
def gdb_version() -> int:
    """Ask ``gdb-multiarch`` for its version's first number; skip without one."""
    try:
        told = subprocess.check_output(["gdb-multiarch", "--version"], universal_newlines=True, timeout=60)
    except OSError:
        pytest.skip("no gdb-multiarch")
    found = re.match(r"GNU gdb .*?(\d+)\.\d+", told)
    assert found is not None, told
    return int(found.group(1))


def no_more() -> str:
    """GDB's line at the end of the history, after an empty one."""
    return "Reached end of recorded history; stopping." if gdb_version() >= 16 else "No more reverse-execution history."


def refused(code: str) -> str:
    """How GDB writes a reply such as ``E01``."""
    return "remote failure reply '%s'" % (code[1:] if gdb_version() >= 16 else code)


def no_breakpoints() -> str:
    """What ``info breakpoints`` says where there are none."""
    if gdb_version() >= 16:
        return "No breakpoints, watchpoints, tracepoints, or catchpoints."
    return "No breakpoints or watchpoints."


def python_errors(output: str) -> List[str]:
    """List our errors that ended a Python command, as ``Class: message``.

    Some versions print more around them.
    """
    plain = r"^gdb_etm\.(?:\w+\.)+(\w+: .*)$"
    quoted = r"^Python Exception <class 'gdb_etm\.(?:\w+\.)+(\w+)'>(: .*)$"
    return re.findall(plain, output, re.M) + ["".join(found) for found in re.findall(quoted, output, re.M)]
