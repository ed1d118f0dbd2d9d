"""What is installed: the version, and whether its modules run compiled."""

from __future__ import annotations

from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec

from gdb_etm import __version__

# One of those that are compiled together or not at all (scripts/building/compiled.py).
_COMPILED = "gdb_etm.program.blocks"


def version() -> str:
    """Say which version this is, and what this interpreter runs of it."""
    spec = find_spec(_COMPILED)
    compiled = spec is not None and (spec.origin or "").endswith(tuple(EXTENSION_SUFFIXES))
    return "%s (%s)" % (__version__, "compiled" if compiled else "pure Python")
