"""The board's truth: what is said of where programs failed."""

from __future__ import annotations

from pathlib import Path

from tests.diagnosis.crashed import fault_of

DATA = """
#include "lib.h"
static const unsigned limits[2] = {0xffffffff, 7};
static void (*volatile handlers[3])(void);
NOINLINE void nothing(void)
{
    __asm volatile("");
}
int main(void)
{
    handlers[0] = nothing;
    handlers[1] = (void (*)(void))((unsigned long)limits | 1);
    for (unsigned one = 0; one < 3; ++one)
        handlers[one]();
    return 0;
}
"""
MASKED = """
#include "lib.h"
volatile unsigned asked;
void SVC_Handler(void)
{
    ++asked;
}
NOINLINE void ask(void)
{
    __asm volatile("svc 3");
}
int main(void)
{
    ask();
    __asm volatile("cpsid i");
    ++asked;
    ask();
    return 0;
}
"""
LATE = """
#include "lib.h"
NOINLINE void clear(volatile unsigned *registers)
{
    registers[2] = 0;
}
int main(void)
{
    SCB_CCR |= CCR_UNALIGN_TRP;
    clear((volatile unsigned *)0x40004000);
    clear((volatile unsigned *)0x4002c000);
    return 0;
}
"""
LIMITED = """
#include "lib.h"
volatile unsigned sum;
NOINLINE void fill(unsigned number)
{
    unsigned char bytes[600];
    for (unsigned one = 0; one < sizeof bytes; ++one)
        bytes[one] = (unsigned char)(number * one);
    for (unsigned one = 0; one < sizeof bytes; ++one)
        sum += bytes[one];
}
NOINLINE void work(unsigned number)
{
    volatile unsigned kept[8];
    kept[number & 7] = number;
    fill(kept[number & 7]);
}
int main(void)
{
    unsigned long here = (unsigned long)__builtin_frame_address(0) - 300;
    __asm volatile("msr msplim, %0" :: "r"(here & ~7ul));
    work(3);
    return 0;
}
"""


def test_a_jump_to_a_constant_is_told_as_that(tmp_path: Path) -> None:
    text = fault_of(tmp_path, DATA)
    assert "blx" in text and "the address that it goes to 0x" in text and ": in limits, which is no function" in text
    assert "NULL" not in text


def test_an_svc_that_is_masked_is_told_and_who_masks_it(tmp_path: Path) -> None:
    text = fault_of(tmp_path, MASKED)
    assert "svc" in text and "PRIMASK 0x00000001: it masks SVC" in text
    assert "primask = 0x00000001: a constant of the program" in text and "==>    main, crash.c:" in text


def test_late_stores_have_addresses_and_none_is_to_the_core(tmp_path: Path) -> None:
    text = fault_of(tmp_path, LATE, ("board.write_buffer=1",))
    assert "0x4002c008: a device" in text and "0x40004008: a device" in text
    assert text.count("a device") == 2


def test_the_frame_that_a_limit_refuses_is_told(tmp_path: Path) -> None:
    text = fault_of(tmp_path, LIMITED)
    assert "CFSR.STKOF" in text and "==>    fill, crash.c:" in text
    assert "needs 60" in text and "faulted itself" in text
