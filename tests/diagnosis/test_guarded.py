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


def test_what_checked_the_guard_is_told_and_not_what_reports_it(tmp_path: Path) -> None:
    text = fault_of(tmp_path, SOURCE)
    assert "<copied+" in text and "bl" in text and "__stack_chk_fail>" in text
    assert "the condition (r2 = 0x" in text
    assert "is a trap" not in text
