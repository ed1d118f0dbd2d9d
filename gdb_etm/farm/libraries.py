"""Libraries of the extra ``farm``.

They carry no types that hold for all their versions; what is used of them has its types where it is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from gdb_etm.errors import CommandError


def library(name: str) -> Any:
    """Import a module of the extra ``farm``.

    :raises CommandError: It is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        missing = (error.name or name).partition(".")[0]
        raise CommandError('%s is missing: pip install "gdb_etm[farm]"' % missing) from error
