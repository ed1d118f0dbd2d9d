"""Real GDB sessions: backtraces behind a gap of the history."""

from __future__ import annotations

import re
from pathlib import Path

from tests.diagnosis.crashed import built
from tests.gdb_session import run_gdb

# What it puts into RAM is MOVS r0, r0 and UDF #0.
COPIED = """
#include "lib.h"
static volatile unsigned copied[2];
NOINLINE void run(void (*code)(void))
{
    code();
}
int main(void)
{
    copied[0] = 0xde000000;
    run((void (*)(void))((unsigned long)copied | 1));
    return 0;
}
"""


def test_a_backtrace_shows_what_ran_where_no_code_is_known(tmp_path: Path) -> None:
    # Who called it is not known, though the history goes on before the gap.
    connect = "etm connect board:m33 --elf %s" % built(tmp_path, COPIED)
    output = run_gdb([connect, "etm start", "continue", "etm backtrace"])
    unseen = "called before the history begins, or in a gap"
    assert re.search(r"^#2  0x200[0-9a-f]+2 in \?\? \(\)   \[%s\]$" % unseen, output, re.MULTILINE), output
