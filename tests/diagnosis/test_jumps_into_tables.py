"""The board's truth: jumps into tables of the program's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.diagnosis.crashed import fault_of

SOURCE = """
#include "lib.h"
struct job { unsigned number; void (*run)(unsigned, unsigned); };
/* nop; nop; nop; and ldr r2, [r0] */
static const unsigned short table[8] __attribute__((used)) = { 0xbf00, 0xbf00, 0xbf00, 0x6802 };
static struct job job;
NOINLINE void choose(const void *place)
{
    job.run = (void (*)(unsigned, unsigned))((const char *)place + 1);
}
int main(void)
{
    choose(&table[%d]);
    job.run(0x30000000, 5);
}
"""


@pytest.mark.parametrize("first, ran", [(3, ""), (0, "; what ran there faulted at 0x")])
def test_the_jump_is_told_and_not_what_data_does_as_code(tmp_path: Path, first: int, ran: str) -> None:
    text = fault_of(tmp_path, SOURCE % first)
    (where,) = [line for line in text.splitlines() if "the address that it goes to" in line]
    assert "in table, which is no function" + ran in where, text
    assert "==>    choose, crash.c:" in text or "==>    main, crash.c:" in text, text
