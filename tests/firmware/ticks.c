/* SysTick comes whenever it comes, into work that branches, loops and calls. */

#include "common.h"

static volatile unsigned ticks, collatz_longest;

void SysTick_Handler(void)
{
    ++ticks;
}

static __attribute__((noinline)) unsigned collatz(unsigned n)
{
    unsigned steps = 0;

    while (n != 1) {
        n = n & 1 ? 3 * n + 1 : n / 2;
        ++steps;
    }
    return steps;
}

static __attribute__((noinline)) unsigned greatest_divisor(unsigned a, unsigned b)
{
    return b ? greatest_divisor(b, a % b) : a;
}

unsigned run(void)
{
    unsigned sum = 0;

    SYST_RVR = 331;
    SYST_CVR = 0;
    SYST_CSR = 7;
    for (unsigned n = 1; n < 60; ++n) {
        unsigned steps = collatz(n);
        if (steps > collatz_longest)
            collatz_longest = steps;
        sum += greatest_divisor(n * 12, 360 + n);
    }
    while (ticks < 40)
        ;
    SYST_CSR = 0;
    if (collatz_longest != 112)
        return 1;
    if (sum == 0)
        return 2;
    return 0;
}
