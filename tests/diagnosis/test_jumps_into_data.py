"""The board's truth: jumps into data that runs as code."""

from __future__ import annotations

from pathlib import Path

from tests.diagnosis.crashed import fault_of

SOURCE = """
#include "lib.h"
struct job { unsigned number; void (*run)(unsigned); };
static unsigned data[200] __attribute__((aligned(8)));
static struct job job;
NOINLINE void choose(void *place)
{
    job.run = (void (*)(unsigned))((char *)place + 1);
}
int main(void)
{
    for (unsigned at = 0; at < 199; ++at)
        data[at] = 0xbf00bf00;
    /* ldr r1, [r0] */
    data[199] = 0x68016801;
    choose(&data[100]);
    job.run(0x30000000);
}
"""


def test_where_it_went_is_told_and_not_where_that_faulted(tmp_path: Path) -> None:
    text = fault_of(tmp_path, SOURCE)
    (where,) = [line for line in text.splitlines() if "the address that it goes to" in line]
    assert "in RAM, where no code is; what ran there faulted at 0x2000" in where, text
    assert "==>    choose, crash.c:" in text or "==>    main, crash.c:" in text, text
    assert "job.run" in text
