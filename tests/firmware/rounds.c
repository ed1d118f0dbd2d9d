/* As many rounds of the same work as wanted: calls, loops, a jump table, recursion, interrupts. */

#include "common.h"

#define COUNT 24

/* A debugger writes more into it. */
volatile unsigned rounds = 1;

static volatile unsigned interrupts;
static int data[COUNT];
static uint32_t seed = 1;

void IRQ0_Handler(void)
{
    ++interrupts;
}

static __attribute__((noinline)) int next_random(void)
{
    seed = seed * 1664525 + 1013904223;
    return seed >> 16 & 0xFF;
}

static __attribute__((noinline)) void insertion_sort(int *values, int count)
{
    for (int i = 1; i < count; ++i)
        for (int j = i; j > 0 && values[j - 1] > values[j]; --j) {
            int value = values[j];
            values[j] = values[j - 1];
            values[j - 1] = value;
        }
}

static __attribute__((noinline)) unsigned fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static __attribute__((noinline)) unsigned choose(unsigned what, unsigned value)
{
    switch (what) {
    case 0: return value + 1;
    case 1: return value * 3;
    case 2: return value ^ 0x55;
    case 3: return value >> 1;
    case 4: return value << 2;
    case 5: return fibonacci(value & 7);
    default: return value;
    }
}

static __attribute__((noinline)) unsigned one_round(void)
{
    unsigned sum = 0;

    for (int i = 0; i < COUNT; ++i)
        data[i] = next_random();
    insertion_sort(data, COUNT);
    for (int i = 0; i < COUNT; ++i)
        sum += choose(data[i] & 7, data[i]);
    for (int i = 1; i < COUNT; ++i)
        if (data[i - 1] > data[i])
            return 0;
    NVIC_ISPR0 = 1;
    barrier();
    return sum + 1;
}

unsigned run(void)
{
    NVIC_ISER0 = 1;
    for (unsigned i = 0; i < rounds; ++i)
        if (!one_round())
            return 1;
    return interrupts == rounds ? 0 : 2;
}
