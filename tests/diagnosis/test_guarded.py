"""The board's truth: a guard of the stack, checked as LLVM does.

The function returns from within an IT block, and what is called otherwise is a trap.
"""

from __future__ import annotations

from pathlib import Path

from tests.diagnosis.crashed import fault_of

SOURCE = """
#include <stdint.h>
uintptr_t __stack_chk_guard = 0xdeadbee1;
__attribute__((noreturn)) void __stack_chk_fail(void) { __builtin_trap(); }
void copied(const char *text);
__asm__(
    ".syntax unified\\n.thumb_func\\n.type copied, %function\\ncopied:\\n"
    "push {r7, lr}\\nsub sp, #16\\nldr r2, =__stack_chk_guard\\nldr r2, [r2]\\nstr r2, [sp, #12]\\n"
    "mov r1, r0\\nmov r0, sp\\nbl strcpy\\n"
    "ldr r3, =__stack_chk_guard\\nldr r3, [r3]\\nldr r2, [sp, #12]\\ncmp r3, r2\\n"
    "itt eq\\naddeq sp, #16\\npopeq {r7, pc}\\nbl __stack_chk_fail\\n.ltorg\\n.size copied, . - copied\\n"
);
int main(void)
{
    copied("short");
    copied("too long for that");
    return 0;
}
"""
# A copy with two stores in its loop, as libraries have it.
UNROLLED = """
#include <stdint.h>
uintptr_t __stack_chk_guard = 0xdeadbee1;
__attribute__((noreturn)) void __stack_chk_fail(void) { __builtin_trap(); }
void stpcpy(unsigned *to, const unsigned *from);
__asm__(
    ".syntax unified\\n.thumb_func\\n.type stpcpy, %function\\nstpcpy:\\npush {r4, lr}\\n"
    "1: ldr r2, [r1], #4\\nstr r2, [r0], #4\\ncbz r2, 2f\\nldr r2, [r1], #4\\nstr r2, [r0], #4\\n"
    "cmp r2, #0\\nbne 1b\\n2: pop {r4, pc}\\n.size stpcpy, . - stpcpy\\n"
);
static unsigned names[2][8] = {{1, 2, 3}, {1, 2, 3, 4, 5, 0xff, 0x163333}};
volatile unsigned sum;
__attribute__((noinline)) void checksum(const unsigned *from)
{
    unsigned name[4];
    stpcpy(name, from);
    for (unsigned one = 0; name[one] && one < 4; ++one)
        sum += name[one];
}
int main(void)
{
    checksum(names[0]);
    checksum(names[1]);
    return 0;
}
"""


def test_an_unrolled_copy_writes_past_the_end(tmp_path: Path) -> None:
    text = fault_of(tmp_path, UNROLLED, flags=("-fstack-protector-strong",))
    assert "<checksum+" in text and "__stack_chk_fail>" in text
    assert "==>    checksum, crash.c:" in text
    assert "calls stpcpy, which writes past the end of name (16 bytes)" in text


def test_what_checked_the_guard_is_told_and_not_what_reports_it(tmp_path: Path) -> None:
    text = fault_of(tmp_path, SOURCE)
    assert "<copied+" in text and "bl" in text and "__stack_chk_fail>" in text
    assert "the condition (r2 = 0x" in text
    assert "is a trap" not in text
