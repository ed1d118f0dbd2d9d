"""The board's truth: values that are older than the history."""

from __future__ import annotations

from pathlib import Path

from tests.diagnosis.crashed import fault_of

SOURCE = """
#include "lib.h"
static struct { unsigned number; void (*volatile done)(void); } job;
static volatile unsigned sum;
NOINLINE unsigned mix(unsigned rounds)
{
    unsigned made = rounds;
    while (rounds--) {
        made = made * 1664525 + 1013904223;
        if (made & 8)
            made ^= sum;
    }
    return made;
}
NOINLINE void finish(void)
{
    job.done();
    sum = 1;
}
int main(void)
{
    job.done = (void (*)(void))0x30000001;
    for (unsigned round = 0; round < 200; ++round)
        sum = mix(500);
    finish();
}
"""


def test_who_reads_a_value_that_is_older_is_named_and_not_what_runs_first(tmp_path: Path) -> None:
    text = fault_of(tmp_path, SOURCE)
    assert "job.done = 0x30000001: there before what is known begins" in text, text
    assert "==>    finish, crash.c:17: has the value first, which was there before the history begins" in text, text
