"""Garbage collection of Python, suspended while much is made that stays."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import Iterator


@contextmanager
def garbage_uncollected() -> Iterator[None]:
    """Suspend garbage collection.

    Decoding and recovery make next to none, and looking for it in ever more objects takes ever longer.

    What was made meanwhile counts as old afterwards, or the next allocation would have all of it looked through.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def collect_suspended() -> None:
    """Collect garbage where that is suspended; elsewhere Python does so in time."""
    if not gc.isenabled():
        gc.collect()
