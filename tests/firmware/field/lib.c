/* Bytes and strings, time, and what start-up code does before the program runs. */

#include "lib.h"
#include "../recovery/limits.h"

#define MAIN_STACK      4096
#define LONGEST         0xFFFFFFu

/* The compiler writes calls of these by itself. */
#define LIBRARY         __attribute__((used, noinline))

extern uint32_t _stack_top[];

unsigned run(void)
{
    set_main_limit((uint32_t)_stack_top - MAIN_STACK);
    SCB_CPACR |= 0xFu << 20;
    barrier();
    unsigned check = program();
    barrier();      /* not a tail call */
    return check;
}

LIBRARY void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    uint8_t *out = to;
    const uint8_t *in = from;

    if ((((uintptr_t)out | (uintptr_t)in) & 3) == 0)
        for (; size >= 4; size -= 4, out += 4, in += 4)
            *(uint32_t *)out = *(const uint32_t *)in;
    while (size--)
        *out++ = *in++;
    return to;
}

LIBRARY void *memmove(void *to, const void *from, size_t size)
{
    uint8_t *out = to;
    const uint8_t *in = from;

    if (out <= in || out >= in + size)
        return memcpy(to, from, size);
    while (size--)
        out[size] = in[size];
    return to;
}

LIBRARY void *memset(void *to, int value, size_t size)
{
    for (uint8_t *out = to; size--; )
        *out++ = (uint8_t)value;
    return to;
}

LIBRARY int memcmp(const void *one, const void *other, size_t size)
{
    const uint8_t *left = one, *right = other;

    for (; size--; ++left, ++right)
        if (*left != *right)
            return *left - *right;
    return 0;
}

LIBRARY size_t strlen(const char *text)
{
    const char *end = text;

    while (*end)
        ++end;
    return (size_t)(end - text);
}

LIBRARY int strcmp(const char *one, const char *other)
{
    while (*one && *one == *other)
        ++one, ++other;
    return (uint8_t)*one - (uint8_t)*other;
}

void lib_time_begin(void)
{
    SYST_RVR = LONGEST;
    SYST_CVR = 0;
    SYST_CSR = 5;
}

uint32_t lib_time(void)
{
    return LONGEST - SYST_CVR;
}
