"""The board's truth: a pool whose taking has no allocator's name."""

from __future__ import annotations

from pathlib import Path

from tests.diagnosis.crashed import fault_of

SOURCE = """
#include "lib.h"
struct message {
    struct message *next;
    void (*show)(struct message *);
    unsigned value;
};
static struct message messages[6];
static struct message *pool;
static volatile unsigned sum;
static void (*kinds[64])(struct message *);
NOINLINE struct message *take_message(void)
{
    struct message *one = pool;
    pool = one->next;
    return one;
}
NOINLINE void message_free(struct message *one)
{
    one->next = pool;
    pool = one;
}
NOINLINE void add(struct message *one)
{
    sum += one->value;
}
NOINLINE void fill(struct message *one, unsigned number)
{
    one->value = number;
    one->show = kinds[number & 63];
}
NOINLINE unsigned work(unsigned rounds)
{
    unsigned made = 1;
    while (rounds--) {
        made = made * 1664525 + 1013904223;
        if (made & 8)
            made ^= sum;
    }
    return made;
}
int main(void)
{
    for (unsigned one = 0; one < 6; ++one)
        message_free(&messages[one]);
    for (unsigned one = 0; one < 64; ++one)
        kinds[one] = one == 57 ? (void (*)(struct message *))0x163333 : add;
    for (unsigned number = 0; number < 500; ++number) {
        struct message *one = take_message(), *other = take_message();
        fill(one, number < 440 ? number % 50 : number);
        fill(other, 3);
        sum = work(80);
        other->show(other);
        one->show(one);
        message_free(other);
        message_free(one);
    }
    return 0;
}
"""


def test_what_was_taken_again_is_not_used_after_it_was_freed(tmp_path: Path) -> None:
    text = fault_of(tmp_path, SOURCE)
    assert "0x00163333: where no code is" in text and "==>    fill, crash.c:" in text
    assert "frees" not in text
