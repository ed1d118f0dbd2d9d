"""The board's truth: which argument of an allocator is the block's size."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.diagnosis.crashed import fault_of

# A block that takes another one's place has its new size; what is asked for by count and size has neither.
SOURCE = """
#include "lib.h"
struct motor {
    unsigned speed;
    void (*set)(struct motor *);
};
static struct motor room[4];
volatile unsigned sum;
NOINLINE void *%s
{
    sum += first + second;
    return room;
}
NOINLINE void install(struct motor *one, void (*set)(struct motor *))
{
    one->set = set;
}
int main(void)
{
    struct motor *motors = %s;
    __asm volatile("" : "+r"(motors));
    install(&motors[2], (void (*)(struct motor *))0x163333);
    motors[2].set(&motors[2]);
    return 0;
}
"""
ASKED = {
    "realloc_block(void *block, size_t osize, size_t nsize)": "realloc_block(NULL, 0, sizeof room)",
    "alloc_blocks(size_t count, size_t size)": "alloc_blocks(4, sizeof(struct motor))",
    "aligned_alloc_block(size_t alignment, size_t size)": "aligned_alloc_block(4, sizeof room)",
}


@pytest.mark.parametrize("function", ASKED)
def test_a_size_is_not_taken_for_another_one(function: str, tmp_path: Path) -> None:
    names = [part.split()[-1] for part in function.rstrip(")").split(",")][-2:]
    source = SOURCE.replace("first", names[0]).replace("second", names[1]) % (function, ASKED[function])
    text = fault_of(tmp_path, source)
    assert "0x00163333: where no code is" in text and "has the value first" in text
    assert "outside of" not in text


OBJECTS = """
#include "lib.h"
struct motor {
    unsigned speed;
    void (*set)(struct motor *);
};
static unsigned char room[256] __attribute__((aligned(8)));
static unsigned used;
volatile unsigned sum;
NOINLINE void *room_alloc(size_t size)
{
    void *block = &room[used];
    used += (size + 7) & ~7u;
    return block;
}
NOINLINE struct motor *motor_alloc(size_t size)
{
    struct motor *motors = room_alloc(size * sizeof *motors);
    sum = 1;
    return motors;
}
NOINLINE void install(struct motor *one, void (*set)(struct motor *))
{
    one->set = set;
}
int main(void)
{
    struct motor *motors = motor_alloc(3);
    __asm volatile("" : "+r"(motors));
    motors[%d].speed = 0;
    install(&motors[%d], (void (*)(struct motor *))0x163333);
    motors[%d].set(&motors[%d]);
    return 0;
}
"""


def test_what_gives_objects_counts_in_them(tmp_path: Path) -> None:
    text = fault_of(tmp_path, OBJECTS % (2, 2, 2, 2))
    assert "0x00163333: where no code is" in text and "outside of" not in text, text
    text = fault_of(tmp_path, OBJECTS % (3, 3, 3, 3))
    assert "==>    " in text and "outside of the block of 24 bytes from room_alloc" in text, text
