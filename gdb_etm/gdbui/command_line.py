"""GDB's own command line: whether GDB begins quietly."""

from __future__ import annotations

import os
from typing import List, Sequence

import gdb

_QUIET = frozenset(("q", "quiet", "silent", "batch", "batch-silent"))
# Options whose value may be the next word.
_VALUED = frozenset(
    "b baud c cd command core D d data-directory directory e eval-command ex exec i iex init-command init-eval-command "
    "interpreter ix l p pid s se symbols t tty ui w x eiex eix early-init-command early-init-eval-command".split()
)
# Where Linux has a process's words.
_WORDS = "/proc/self/cmdline"
_LARGEST = 1 << 20


def is_quiet() -> bool:
    """Tell whether this GDB was started or set to begin quietly."""
    return _is_set() or _asks_for_quiet(command_words())


def _asks_for_quiet(words: Sequence[str]) -> bool:
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name = word.lstrip("-")
        if word == name:
            continue
        if name == "args":
            return False
        if name in _QUIET:
            return True
        if name in _VALUED and rest:
            del rest[0]
    return False


def _is_set() -> bool:
    try:
        return bool(gdb.parameter("startup-quietly"))
    except RuntimeError:
        return False  # new in GDB 11


def command_words() -> List[str]:
    """Give the words that GDB was started with, where known."""
    try:
        raw = os.open(_WORDS, os.O_RDONLY)
        try:
            return os.read(raw, _LARGEST).decode("utf-8", "replace").split("\0")[1:]
        finally:
            os.close(raw)
    except OSError:
        return []  # of another system
