"""The board's truth: a thread whose function returns."""

from __future__ import annotations

from pathlib import Path

from tests.diagnosis.crashed import fault_of

SOURCE = """
#include "lib.h"
static unsigned stack[64];
static volatile unsigned nesting = 9, sum;
NOINLINE void assert_failed(void)
{
    for (;;)
        __asm volatile("bkpt 5");
}
NOINLINE void thread_exit_error(void)
{
    if (nesting != 0xffffffff)
        assert_failed();
}
NOINLINE void leave(void)
{
    nesting--;
}
NOINLINE void blink(void)
{
    for (unsigned round = 0; round < 5; ++round)
        sum += round;
    leave();
    if (sum == 0)
        blink();
    sum = 1;
}
__attribute__((naked, noreturn)) void begin(unsigned *top, void (*run)(void), void (*exit)(void))
{
    __asm volatile("mov sp, r0\\n mov lr, r2\\n bx r1");
}
int main(void)
{
    begin(stack + 64, blink, thread_exit_error);
}
"""


def test_that_a_thread_has_returned_is_the_mistake(tmp_path: Path) -> None:
    text = fault_of(tmp_path, SOURCE)
    assert "==>    blink, crash.c:" in text and "returns to thread_exit_error, which reports that" in text, text
