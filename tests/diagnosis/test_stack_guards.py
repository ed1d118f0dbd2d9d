"""The board's truth: what an MPU forbids, stacks' guards and code.

The thread's stack ends with 32 bytes that nobody may write, as kernels have it.
"""

from __future__ import annotations

from pathlib import Path

from tests.diagnosis.crashed import fault_of

STACKED = """
#include "lib.h"
volatile unsigned sum;
static unsigned stack[256] __attribute__((aligned(32)));
static void allow(unsigned number, unsigned start, unsigned last, unsigned access)
{
    MPU_RNR = number;
    MPU_RBAR = start | access << 1;
    MPU_RASR = (last & ~31u) | 1;
}
static void begin(void (*thread)(void))
{
    MPU_MAIR0 = 0xff;
    allow(0, 0, 0xfffff, 3);
    allow(1, (unsigned)stack, (unsigned)stack + 31, 3);
    SCB_SHCSR |= 7u << 16;
    /* What is in no region is privileged code's. */
    MPU_CTRL = 5;
    barrier();
    __asm volatile("msr psp, %0\\n movs r0, #2\\n msr control, r0\\n isb\\n bx %1"
                   :: "r"(stack + 256), "r"((unsigned)thread) : "r0");
}
"""
DEEP = (
    STACKED
    + """
NOINLINE unsigned deep(unsigned number)
{
    volatile unsigned kept[10];
    kept[number % 10] = number;
    return number > 200 ? 0 : deep(number + 1) + kept[number % 10];
}
static void work(void)
{
    sum = deep(0);
}
int main(void)
{
    begin(work);
    return 0;
}
"""
)
# The guard is written through a pointer to it, and no stack has grown to there.
WRITTEN = (
    STACKED
    + """
NOINLINE void clear(volatile unsigned *from)
{
    from[2] = 0;
}
static void work(void)
{
    clear(stack);
}
int main(void)
{
    begin(work);
    return 0;
}
"""
)
# What was written there are instructions.
FORBIDDEN = """
#include "lib.h"
static volatile unsigned short code[2];
static void (*volatile run)(void);
int main(void)
{
    MPU_MAIR0 = 0xff;
    MPU_RNR = 0;
    MPU_RBAR = 0x20000000 | 1 << 1 | 1;
    MPU_RASR = 0x2007ffe0 | 1;
    MPU_CTRL = 5;
    barrier();
    code[0] = 0xbf00;
    code[1] = 0x4770;
    run = (void (*)(void))((unsigned)code | 1);
    run();
    return 0;
}
"""


def test_a_recursion_that_reaches_the_guard_is_told(tmp_path: Path) -> None:
    text = fault_of(tmp_path, DEEP)
    assert "CFSR.DACCVIOL" in text
    assert "==>    deep, crash.c:" in text and "calls itself 2" in text
    assert "the stack grows into the MPU's guard at the end of stack (1024 bytes)" in text


def test_what_writes_a_guard_by_a_pointer_is_no_stack(tmp_path: Path) -> None:
    text = fault_of(tmp_path, WRITTEN)
    assert "CFSR.DACCVIOL" in text and "==>    work, crash.c:" in text
    assert "grows" not in text


def test_code_that_may_not_run_is_not_said_to_be_none(tmp_path: Path) -> None:
    text = fault_of(tmp_path, FORBIDDEN)
    assert "CFSR.IACCVIOL" in text
    assert ": in RAM, where the MPU lets no code run" in text
