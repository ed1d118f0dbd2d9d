"""The board's truth: pointers to dead frames, older than the history."""

from __future__ import annotations

from pathlib import Path

from tests.diagnosis.crashed import fault_of

VOLUMES = """
#include "lib.h"
struct volume { uint32_t sector, window[64]; };
static struct volume *mounted;
static volatile uint32_t sum;
NOINLINE void format(uint32_t sectors)
{
    for (uint32_t at = 0; at < sectors; ++at)
        sum += at & 1 ? at : sum ^ at;
}
NOINLINE void mount(void)
{
    struct volume volume;
    format(20000);
    mounted = &volume;
    mounted->sector = 0;
}
NOINLINE void fill(uint32_t *to, unsigned words)
{
    while (words--)
        *to++ = 0x30000000 | words;
}
NOINLINE void save(uint32_t value)
{
    uint32_t kept[24];
    kept[value & 7] = value;
    fill(mounted->window, 64);
    sum += kept[3];
}
int main(void)
{
    mount();
    for (uint32_t value = 0; value < 9; ++value)
        save(value);
}
"""


def test_who_restored_a_register_has_not_made_the_pointer(tmp_path: Path) -> None:
    text = fault_of(tmp_path, VOLUMES, flags=("-O0",))
    assert "==>    mount, crash.c:15: has a pointer first, made before " in text, text
