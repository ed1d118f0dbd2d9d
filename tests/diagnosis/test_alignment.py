"""The board's truth: an unaligned address that was made of a distance.

The allocator rounds the same memory's address up, which is no mistake.
"""

from __future__ import annotations

from pathlib import Path

from tests.diagnosis.crashed import fault_of

SOURCE = """
#include "lib.h"
static unsigned char pool[64];
static unsigned char *top = pool;
static const char text[] __attribute__((aligned(4))) = "12 34 56";
volatile unsigned read;
NOINLINE unsigned char *reserve(unsigned size)
{
    unsigned char *at = (unsigned char *)(((unsigned long)top + 7 + 4) & ~7ul);
    top = at + size;
    return at;
}
NOINLINE unsigned number_at(const char *from)
{
    return *(const unsigned short *)from;
}
NOINLINE unsigned length_of(const char *from, unsigned char *copy)
{
    unsigned char *to = copy;
    while (*from >= '0')
        *to++ = *from++;
    return to - copy;
}
int main(void)
{
    SCB_CCR |= CCR_UNALIGN_TRP;
    unsigned at = length_of(text, reserve(4)) + 1;
    read = number_at(text + at + length_of(text + at, reserve(4)));
    return 0;
}
"""


def test_a_pointer_whose_distance_was_used_is_not_blamed(tmp_path: Path) -> None:
    text = fault_of(tmp_path, SOURCE)
    assert "ldrh" in text and "not a multiple of 2" in text
    assert "no multiple of" not in text and "nothing on the way from there is known to be wrong" in text
