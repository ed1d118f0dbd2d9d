"""The board's truth: allocators, and the blocks that they give."""

from __future__ import annotations

from pathlib import Path

from tests.diagnosis.crashed import fault_of

SOURCE = """
#include "lib.h"
struct item { unsigned bytes, state; struct item *next; unsigned value; };
static char room[256] __attribute__((aligned(8)));
static struct item *spare;
static unsigned used;
static volatile unsigned sum;
NOINLINE void *take(unsigned bytes)
{
    struct item *one = spare;
    if (one && one->bytes >= bytes) {
        spare = one->next;
        return &one->next;
    }
    if (used + bytes + 8 > sizeof room)
        return NULL;
    one = (struct item *)&room[used];
    used += bytes + 8;
    one->bytes = bytes;
    return &one->next;
}
NOINLINE void give(struct item *one)
{
    one->next = spare;
    spare = one;
}
NOINLINE void *room_malloc(unsigned bytes)
{
    return take((bytes + 7) & ~7u);
}
NOINLINE void room_free(void *block)
{
    give((struct item *)((char *)block - 8));
}
%s
"""
EXHAUSTED = """
int main(void)
{
    for (unsigned round = 0; round < 4; ++round) {
        unsigned *one = room_malloc(16);
        one[2] = round;
        sum += one[2];
        room_free(one);
    }
    for (unsigned round = 0; ; ++round) {
        unsigned *one = room_malloc(60);
        one[3] = round;
    }
}
"""
OVERRUN = """
struct shown { void (*show)(struct shown *); unsigned value; };
NOINLINE void shows(struct shown *one)
{
    sum += one->value;
}
NOINLINE void name(char *to, const char *text)
{
    while ((*to++ = *text++))
        ;
}
int main(void)
{
    char *text = room_malloc(12);
    struct shown *one = room_malloc(sizeof *one);
    one->show = shows;
    name(text, "a name that does not end where the block does");
    one->show(one);
}
"""
ARENA = """
#include "lib.h"
static unsigned char arena[512] __attribute__((aligned(8)));
static unsigned used, unset, *count = &unset;
static volatile unsigned sum;
NOINLINE void *arena_malloc(unsigned bytes)
{
    void *block = &arena[used];
    ++*count;
    used += (bytes + 7) & ~7u;
    return block;
}
NOINLINE void arena_free(void *block)
{
    used = (unsigned)((unsigned char *)block - arena);
}
"""
MERGED = """
NOINLINE void configure(unsigned place)
{
    count = (unsigned *)place;
}
int main(void)
{
    void *one = arena_malloc(16), *other = arena_malloc(16);
    arena_free(other);
    arena_free(one);
    unsigned *both = arena_malloc(32);
    for (unsigned at = 0; at < 8; ++at)
        both[at] = at;
    sum = both[5];
    configure(0x30000000);
    arena_malloc(8);
}
"""
AGAIN = """
struct shown { void (*volatile show)(struct shown *); unsigned value; };
static struct shown *kept;
NOINLINE void shows(struct shown *one)
{
    sum += one->value;
}
NOINLINE void forget(void)
{
    arena_free(kept);
}
NOINLINE void scratch(void)
{
    unsigned *block = arena_malloc(8);
    *(volatile unsigned *)block = 0x30000001;
    arena_free(block);
}
int main(void)
{
    kept = arena_malloc(sizeof *kept);
    kept->show = shows;
    kept->show(kept);
    forget();
    scratch();
    kept->show(kept);
}
"""
COUNTED = """
struct image { unsigned users; void (*show)(struct image *); };
NOINLINE void shows(struct image *one)
{
    sum += one->users;
}
NOINLINE void image_free(struct image *one)
{
    if (--one->users == 0)
        arena_free(one);
}
NOINLINE void choose(struct image *one, unsigned place)
{
    one->show = (void (*)(struct image *))place;
}
int main(void)
{
    struct image *one = arena_malloc(sizeof *one);
    one->users = 2;
    one->show = shows;
    one->show(one);
    choose(one, 0x30000001);
    image_free(one);
    one->show(one);
}
"""
FLAGS = ("-O2", "-fno-inline", "-fno-tree-loop-distribute-patterns")


def test_who_gets_none_and_goes_on_is_told(tmp_path: Path) -> None:
    source = SOURCE.replace("take", "room_alloc_core").replace("give", "room_free_core")
    text = fault_of(tmp_path, source % EXHAUSTED, flags=FLAGS)
    assert "frees" not in text, text
    assert (
        "==>    main, crash.c:45: asks room_malloc for 60 bytes and gets NULL, which is used all the same" in text
    ), text


def test_the_outermost_function_gave_the_block(tmp_path: Path) -> None:
    text = fault_of(tmp_path, SOURCE % OVERRUN, flags=FLAGS)
    assert "==>    name, crash.c:" in text and "outside of the block of 12 bytes from room_malloc" in text, text


def test_a_block_that_begins_elsewhere_has_memory_of_one_that_was_freed(tmp_path: Path) -> None:
    text = fault_of(tmp_path, ARENA + MERGED, flags=FLAGS)
    assert "frees" not in text, text
    assert "==>    configure, crash.c:" in text or "==>    main, crash.c:38:" in text, text


def test_who_freed_a_block_is_not_who_freed_the_next_one_there(tmp_path: Path) -> None:
    text = fault_of(tmp_path, ARENA + AGAIN, flags=FLAGS)
    assert "==>    forget, crash.c:" in text and "which main reads at" in text, text


def test_one_user_less_leaves_a_block_to_the_others(tmp_path: Path) -> None:
    text = fault_of(tmp_path, ARENA + COUNTED, flags=FLAGS)
    assert "frees" not in text, text
    assert "0x30000001" in text and "==>    " in text


MOVED = """
struct shown { void (*volatile show)(struct shown *); unsigned value; };
static struct shown *few[1], *many[2];
NOINLINE void shows(struct shown *one)
{
    sum += one->value;
}
NOINLINE void move(unsigned char *to, const unsigned char *from, unsigned bytes)
{
    while (bytes--)
        *to++ = *from++;
}
NOINLINE void forget(struct shown *one)
{
    arena_free(one);
}
int main(void)
{
    few[0] = arena_malloc(sizeof *few[0]);
    few[0]->show = shows;
    move((unsigned char *)many, (const unsigned char *)few, sizeof few);
    many[0]->show(many[0]);
    forget(many[0]);
    unsigned *block = arena_malloc(8);
    *(volatile unsigned *)block = 0x30000001;
    many[0]->show(many[0]);
}
"""


def test_a_pointer_that_was_moved_byte_by_byte_is_of_its_block(tmp_path: Path) -> None:
    text = fault_of(tmp_path, ARENA + MOVED, flags=FLAGS)
    assert "==>    forget, crash.c:" in text and "which main reads at" in text, text


INLINED = """
#include "lib.h"
struct frame { unsigned number, bytes[7]; };
struct pool { struct frame frames[4]; struct frame *spare[4]; unsigned count; void (*count_up)(struct pool *); };
static struct pool pool;
static volatile unsigned sum;
NOINLINE void count(struct pool *one)
{
    sum += one->count;
}
static inline __attribute__((always_inline)) void *frame_alloc(struct pool *one)
{
    one->count_up(one);
    return one->count ? one->spare[--one->count] : NULL;
}
NOINLINE void frame_free(struct pool *one, void *frame)
{
    one->spare[one->count++] = frame;
}
NOINLINE struct frame *begin(struct pool *one, unsigned number)
{
    struct frame *frame = frame_alloc(one);
    frame->number = number;
    frame->bytes[0] = number;
    return frame;
}
NOINLINE void *entry_alloc(struct pool *one)
{
    return frame_alloc(one);
}
NOINLINE void send(unsigned number)
{
    struct frame *entry = entry_alloc(&pool), *frame = begin(&pool, number);
    entry->number = number;
    sum += frame->bytes[0] + entry->number;
    frame_free(&pool, frame);
    frame_free(&pool, entry);
}
NOINLINE void clear(unsigned *place, unsigned words)
{
    while (words--)
        *place++ = 0x30001000;
}
int main(void)
{
    for (unsigned at = 0; at < 4; ++at)
        frame_free(&pool, &pool.frames[at]);
    pool.count_up = count;
    for (unsigned number = 0; number < 8; ++number)
        send(number);
    clear((unsigned *)&pool.count_up, 1);
    send(8);
}
"""


def test_blocks_that_an_inlined_allocator_gives_are_not_freed_twice(tmp_path: Path) -> None:
    text = fault_of(tmp_path, INLINED, flags=FLAGS)
    assert "frees" not in text, text
    assert "==>    clear, crash.c:" in text, text
