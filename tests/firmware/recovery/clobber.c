/* Hand-written functions that break the calling convention: r4 and r5 not preserved, and a return past a caller. */

#include "inputs.h"

#ifdef __OPTIMIZE__
#define ROUNDS          900
#else
#define ROUNDS          500
#endif

static uint32_t log[32];
static unsigned escapes;

/* Sums words; uses r4 and r5 and does not give them back. */
__attribute__((naked, noinline)) static uint32_t sum_words(const uint32_t *words __attribute__((unused)),
                                                           unsigned count __attribute__((unused)))
{
    __asm volatile(
        "movs   r4, #0\n\t"
        "b      2f\n"
        "1:\n\t"
        "ldm    r0!, {r5}\n\t"
        "adds   r4, r5\n\t"
        "subs   r1, #1\n"
        "2:\n\t"
        "cmp    r1, #0\n\t"
        "bne    1b\n\t"
        "mov    r0, r4\n\t"
        "bx     lr");
}

/* Remembers where it was called, and is returned from again when leap() is called. */
static uint32_t place[10];

__attribute__((naked, noinline, returns_twice)) static unsigned remember(uint32_t *where __attribute__((unused)))
{
    __asm volatile(
        "mov    r12, sp\n\t"
        "stm    r0, {r4-r11, r12, lr}\n\t"
        "movs   r0, #0\n\t"
        "bx     lr");
}

__attribute__((naked, noinline, noreturn)) static void leap(uint32_t *where __attribute__((unused)))
{
    __asm volatile(
        "ldm    r0, {r4-r11, r12, lr}\n\t"
        "mov    sp, r12\n\t"
        "movs   r0, #1\n\t"
        "bx     lr");
}

static __attribute__((noinline)) uint32_t descend(unsigned depth, uint32_t value)
{
    if (depth == 0) {
        if (value & 4) {
            ++escapes;
            leap(place);
        }
        return value;
    }
    return descend(depth - 1, value * 5 + depth) + depth;
}

static __attribute__((noinline)) uint32_t attempt(unsigned depth, uint32_t value)
{
    if (remember(place))
        return 0xE5CA;
    return descend(depth, value);
}

/* Its loop variables live in r4 and up, except without optimisation: the sum that it makes is not the right one. */
static __attribute__((noinline)) uint32_t careless(const uint32_t *words, unsigned count, uint32_t first)
{
    uint32_t second = first * 7, third = first ^ count;
    uint32_t result = sum_words(words, count & 15);

    return result + first + second * 3 + third;
}

unsigned run(void)
{
    uint32_t seed = 7;

    for (volatile unsigned round = 0; round < ROUNDS; ++round) {
        seed = seed * 1664525 + 1013904223;
        log[round & 31] = seed >> 3;
        log[(round + 3) & 31] += careless(log, round, seed);
        log[(round + 9) & 31] ^= attempt(round % 6, seed >> 7);
    }
    return escapes > 10 ? 0 : 1;
}
