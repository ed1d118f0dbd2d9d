"""The board's truth: values that only the startup has written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.diagnosis.crashed import fault_of

FLAGS = ("-fno-inline", "-fno-tree-loop-distribute-patterns")
CALLBACK = """
#include "lib.h"
static struct { unsigned size; void (*volatile ready)(unsigned); } channels[3];
static volatile unsigned ticks, rounds;
NOINLINE void count(unsigned size)
{
    ticks += size;
}
NOINLINE void deliver(unsigned channel)
{
    channels[channel].ready(4);
    ticks = ticks;
}
NOINLINE void work(void)
{
    for (volatile unsigned at = 0; at < 200; ++at)
        ++rounds;
}
void SysTick_Handler(void)
{
    deliver(ticks % 3);
}
int main(void)
{
    channels[0].ready = count;
    channels[2].ready = count;
    SYST_RVR = 400;
    SYST_CVR = 0;
    SYST_CSR = 7;
    for (;;)
        work();
}
"""
TABLE = """
#include "lib.h"
struct parameter { const char *name; unsigned *volatile value; volatile bool writable; };
static unsigned rate;
static struct parameter parameters[] = {{"rate", &rate, true}, {"offset", (unsigned *)0x30000040, false}};
static volatile unsigned sum;
NOINLINE void set(unsigned number, unsigned value)
{
    if (parameters[number].writable)
        *parameters[number].value = value;
}
NOINLINE void unlock(void)
{
    parameters[1].writable = true;
}
int main(void)
{
    set(0, 1);
    set(1, 2);
    unlock();
    set(1, 3);
    sum = rate;
}
"""


@pytest.mark.parametrize("level", ["-Os", "-O0"])
def test_a_callback_that_nobody_has_set(level: str, tmp_path: Path) -> None:
    text = fault_of(tmp_path, CALLBACK, flags=(level, *FLAGS))
    assert "==>    deliver, crash.c:11: reads channels[1].ready, which only the startup has written" in text, text


@pytest.mark.parametrize("level", ["-Os", "-O0"])
def test_what_an_interrupted_loop_decides_has_led_to_no_handler(level: str, tmp_path: Path) -> None:
    text = fault_of(tmp_path, CALLBACK, flags=(level, *FLAGS))
    assert not [line for line in text.splitlines() if "branch that led there" in line and "<work" in line], text


@pytest.mark.parametrize("level", ["-Os", "-O0"])
def test_a_pointer_of_a_table_that_is_as_it_was_built(level: str, tmp_path: Path) -> None:
    text = fault_of(tmp_path, TABLE, flags=(level, *FLAGS))
    assert "==>    set, crash.c:10: reads parameters[1].value, which only the startup has written" in text, text
    assert "the branch that led there" in text and "<unlock+" in text, text
