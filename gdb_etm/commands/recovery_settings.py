"""The settings of what is worked out about the past."""

from __future__ import annotations

import os
from typing import Tuple

from gdb_etm.commands.declare import Setting
from gdb_etm.errors import CommandError
from gdb_etm.replay.reliance import LIMITS, MOST, NO_REGIONS, regions
from gdb_etm.session.recovered import THIS_GDB


def _check_regions(text: str) -> None:
    try:
        regions(text)
    except ValueError as error:
        raise CommandError(str(error)) from None


def _check_path(text: str) -> None:
    if not os.access(text, os.X_OK) or not os.path.isfile(text):
        raise CommandError('"%s" is no program; a path such as /usr/bin/gdb-multiarch is, or %s' % (text, THIS_GDB))


RECOVERY_SETTINGS: Tuple[Setting, ...] = (
    Setting(
        "recovery",
        "how far the past's registers and memory are worked out",
        "exact: what follows from the trace, the program and the halted core.\n"
        "assumed: also what holds if calls and handlers keep SP and r4 to r11, and call frame information is right.\n"
        "likely: also what holds if stores to addresses of which nothing is known wrote somewhere else.\n"
        "off: nothing.  What is not exact is marked, but by GDB's own commands in the past.",
        "assumed",
        tuple(LIMITS),
    ),
    Setting(
        "recovery-limit",
        "instructions before the end whose values are worked out",
        "a number; unlimited or 0: all.  The newest 50,000 are worked out at the first look, and older ones when they\n"
        "are asked for, which takes a second for each 10,000.",
        str(MOST),
    ),
    Setting(
        "volatile",
        "memory that others write too",
        "none, or ADDRESS,SIZE of each piece, such as 0x20000400,64: what DMA or another core writes cannot be told.",
        NO_REGIONS,
        (NO_REGIONS,),
        _check_regions,
    ),
    Setting(
        "gdb",
        "the GDB that prints values of the past",
        "auto: this one's own program, started a second time.  Or the path of another.",
        THIS_GDB,
        (THIS_GDB,),
        _check_path,
    ),
)
