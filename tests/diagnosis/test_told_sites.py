"""The board's truth: what is said of where programs failed."""

from __future__ import annotations

from pathlib import Path

import pytest

from gdb_etm.errors import CommandError
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
# As libstdc++ has it where it is built without exceptions.
CHECKED = """
#include "lib.h"
NOINLINE void stop(void)
{
    __asm volatile("bkpt 9");
}
__attribute__((noreturn)) void abort(void)
{
    for (;;)
        stop();
}
void fails(void) __asm__("_ZSt20__throw_out_of_rangePKc");
__asm__(
    ".syntax unified\\n.thumb_func\\n.type _ZSt20__throw_out_of_rangePKc, %function\\n"
    "_ZSt20__throw_out_of_rangePKc:\\npush {r3, lr}\\nbl abort\\n.size _ZSt20__throw_out_of_rangePKc, . - "
    "_ZSt20__throw_out_of_rangePKc\\n"
);
static unsigned values[3];
volatile unsigned sum;
NOINLINE void add(unsigned index)
{
    if (index >= 3)
        fails();
    sum += values[index];
}
int main(void)
{
    for (unsigned index = 0; index < 5; ++index)
        add(index);
    return 0;
}
"""


SAVED = """
#include "lib.h"
struct task {
    unsigned kind;
};
volatile unsigned sum;
NOINLINE unsigned add(unsigned one)
{
    register unsigned kept __asm__("r4") = one * 3;
    __asm volatile("" : "+r"(kept));
    sum += kept;
    return sum;
}
int main(void)
{
    register struct task *task __asm__("r4") = (struct task *)0x163333;
    __asm volatile("" : "+r"(task));
    add(2);
    sum = task->kind;
    return 0;
}
"""
LONG = """
#include "lib.h"
volatile unsigned sum;
void HardFault_Handler(void)
{
    unsigned made = 1;
    for (unsigned round = 0; round < 60000; ++round) {
        made = made * 1664525 + 1013904223;
        if (made >> 31)
            sum += made;
    }
    __asm volatile("bkpt 3");
}
int main(void)
{
    return *(volatile int *)0x30000000;
}
"""
COUNTED = """
#include "lib.h"
volatile unsigned sum;
NOINLINE void add(unsigned one)
{
    unsigned left = 31 - one;
    __asm volatile("" : "+r"(left));
    if (left == 31 + sum)
        __builtin_trap();
    sum += left;
}
int main(void)
{
    add(4);
    sum = 0;
    add(0);
    return 0;
}
"""

DATA_THAT_RAN = """
#include "lib.h"
static volatile unsigned short data[8];
static void (*volatile handlers[2])(void);
volatile unsigned sum;
NOINLINE void install(unsigned index, unsigned long address)
{
    handlers[index] = (void (*)(void))address;
}
int main(void)
{
    register unsigned long kept __asm__("r7") = (unsigned long)data | 1;
    __asm volatile("" : "+r"(kept));
    install(1, kept);
    data[4] = 0xdeff;
    sum = 3;
    handlers[1]();
    return 0;
}
"""

TWICE = """
#include "lib.h"
static unsigned *where = (unsigned *)0x30001000;
volatile unsigned sum;
void BusFault_Handler(void)
{
    *where = 1;
    __asm volatile("bkpt 5");
}
NOINLINE void read_it(unsigned index)
{
    sum = *(volatile unsigned *)(0x30000000 + index);
}
int main(void)
{
    SCB_SHCSR |= 7u << 16;
    read_it(sum + 4);
    return 0;
}
"""

# What reports it takes so long that its call is older than the buffer.
ASSERTED = """
#include "lib.h"
volatile unsigned sum;
__attribute__((noreturn)) NOINLINE void abort(void)
{
    for (;;)
        __asm volatile("bkpt 9");
}
__attribute__((noreturn)) NOINLINE void __assert_func(unsigned made)
{
    for (unsigned round = 0; round < 60000; ++round) {
        made = made * 1664525 + 1013904223;
        if (made >> 31)
            sum += made;
    }
    abort();
}
int main(void)
{
    sum = 3;
    __assert_func(sum);
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


def test_who_calls_what_throws_is_told(tmp_path: Path) -> None:
    text = fault_of(tmp_path, CHECKED)
    assert "the program stopped itself in abort" in text and "the condition (r" in text
    assert "<add+" in text and "<_ZSt20__throw_out_of_rangePKc>" in text and "==>    main, crash.c:" in text


def test_what_a_function_saves_of_its_caller_it_does_not_make(tmp_path: Path) -> None:
    text = fault_of(tmp_path, SAVED)
    assert "saved r4 of add" in text and "==>    main, crash.c:" in text
    assert "calls add" not in text


def test_a_fault_before_the_history_is_told_as_that(tmp_path: Path) -> None:
    with pytest.raises(
        CommandError, match=r"the core handles HardFault \(a load or store .*\), and how it came to that"
    ):
        fault_of(tmp_path, LONG, ("vector_catch=n",))


def test_a_number_is_not_called_null(tmp_path: Path) -> None:
    text = fault_of(tmp_path, COUNTED)
    assert "udf" in text and "the condition (" in text
    assert "NULL" not in text


def test_what_ran_in_a_gap_is_not_what_the_last_instruction_did(tmp_path: Path) -> None:
    text = fault_of(tmp_path, DATA_THAT_RAN, more=("origin r7",))
    assert "in RAM, where no code is" in text and "stored from" in text
    assert "(assumed)" not in text and "the way is exact" in text
    assert "its state is not that after the last instruction" in text and "contradict" not in text


def test_the_fault_is_told_whose_handler_faults(tmp_path: Path) -> None:
    text = fault_of(tmp_path, TWICE)
    assert "the store's address 0x30001000: no memory is there" in text
    assert "within the handler of BusFault, which was taken after #" in text
    assert ": <read_it" in text and "ldr" in text


def test_a_failure_that_began_before_the_history_is_told(tmp_path: Path) -> None:
    text = fault_of(tmp_path, ASSERTED)
    assert "the program stopped itself in __assert_func" in text
    assert "<__assert_func+" in text and "the condition" not in text
    assert "where it comes from is not known" in text
