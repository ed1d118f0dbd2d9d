"""The board's truth: overwritten parts of pointers, and innocent races."""

from __future__ import annotations

from pathlib import Path

from tests.diagnosis.crashed import fault_of

SOURCE = """
#include "lib.h"
struct job {
    unsigned number;
    void (*run)(struct job *);
};
static struct { char name[8]; struct job *current; } state;
static struct job jobs[32] __attribute__((aligned(256)));
static volatile unsigned sum;
void SysTick_Handler(void);
void SysTick_Handler(void)
{
    sum += 2;
}
NOINLINE void add(void)
{
    unsigned had = sum;
    REG(0xE000ED04) = 1u << 26;
    barrier();
    sum = had + 1;
}
NOINLINE void runs(struct job *one)
{
    sum += one->number;
}
NOINLINE void finish(unsigned at)
{
    state.name[at] = 0;
}
NOINLINE void configure(struct job *one, unsigned place)
{
    one->run = (void (*)(struct job *))place;
}
NOINLINE void start(void)
{
    add();
    state.current->run(state.current);
}
int main(void)
{
    for (unsigned at = 0; at < 32; ++at)
        jobs[at].run = at ? runs : (void (*)(struct job *))&jobs[1];
    state.current = &jobs[5];
    start();
    %s
    start();
}
"""


def test_a_pointer_with_a_byte_of_another_store_is_wrong_wherever_it_leads(tmp_path: Path) -> None:
    text = fault_of(tmp_path, SOURCE % "finish(8);")
    assert "==>    finish, crash.c:" in text and "over state.current" in text, text


def test_a_lost_update_of_what_decides_nothing_is_not_the_mistake(tmp_path: Path) -> None:
    text = fault_of(tmp_path, SOURCE % "configure(state.current, 0x30000001);")
    assert "0x30000001" in text and "that change is lost" not in text, text
    assert "==>    configure, crash.c:" in text or "==>    main, crash.c:" in text, text
