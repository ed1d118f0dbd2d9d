"""The board's truth: frees of what a C library did not give."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.diagnosis.crashed import fault_of

# A heap with its lists in the blocks, and what it is locked by.
SOURCE = """
#include "lib.h"
struct block { unsigned bytes, spare; struct block *next; };
static unsigned char room[512] __attribute__((aligned(8)));
static struct block *heap = (struct block *)room;
static unsigned used, locks;
static volatile unsigned sum;
static char text[16];
NOINLINE void *__malloc_lock(void *state)
{
    ++locks;
    return state;
}
NOINLINE void *malloc(size_t bytes)
{
    __malloc_lock(text);
    struct block *one = (struct block *)&room[used];
    one->bytes = bytes;
    used += (bytes + 15) & ~7u;
    return &one->next;
}
NOINLINE void free(void *memory)
{
    struct block *one = (struct block *)((char *)memory - 8);
    one->spare = 1;
    struct block *following = (struct block *)((char *)memory + ((one->bytes + 7) & ~7u));
    one->next = heap;
    heap = one;
    if (following->spare)
        sum = 1;
}
NOINLINE void write(char *to, char letter)
{
    for (unsigned at = 0; at < 15; ++at)
        to[at] = letter;
}
NOINLINE void copy(unsigned *to, const unsigned *from)
{
    for (unsigned at = 0; at < 3; ++at)
        to[at] = from[at];
}
%s
"""
STATIC = """
static struct { unsigned size, made; unsigned value[4]; } sample;
int main(void)
{
    void *one = malloc(16);
    sample.size = 0x30000000;
    free(one);
    free(sample.value);
}
"""
INSIDE = """
int main(void)
{
    unsigned *one = malloc(16);
    one[0] = 0x30000000;
    one[1] = 0x30000000;
    free(one + 2);
}
"""
TEXT = """
struct shown { unsigned number; struct shown *next; };
NOINLINE struct shown *following(struct shown *one)
{
    return one->next;
}
int main(void)
{
    write(text, 's');
    struct shown *one = malloc(sizeof *one + 8);
    one->number = 1;
    one->next = NULL;
    copy((unsigned *)one, (const unsigned *)text);
    sum = following(one)->number;
}
"""
FLAGS = ("-fno-builtin", "-fno-tree-loop-distribute-patterns")


@pytest.mark.parametrize(
    "program, told",
    [(STATIC, "frees sample, which no allocator gave"), (INSIDE, "which is 8 bytes behind the beginning of the block")],
)
def test_what_is_no_block_is_not_freed(tmp_path: Path, program: str, told: str) -> None:
    text = fault_of(tmp_path, SOURCE % program, flags=FLAGS)
    assert "==>    main, crash.c:" in text and told in text, text


def test_text_that_is_copied_is_no_pointer_where_it_came_from(tmp_path: Path) -> None:
    text = fault_of(tmp_path, SOURCE % TEXT, flags=FLAGS)
    assert "over a word that holds a pointer" not in text and "==>    " in text, text
    assert "from __malloc_lock" not in text, text
