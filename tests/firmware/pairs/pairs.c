/* Work whose way depends on inputs, conditions, constants, and when an interrupt comes.

   Each is one planted difference of a pair: INPUT n is decided by input[n]; BRANCH n is another condition in a build with
   -DBRANCH=n; FLAG n is another constant or call in one with -DFLAG=n. */

#include "common.h"

#ifndef BRANCH
#define BRANCH 0
#endif
#ifndef FLAG
#define FLAG 0
#endif

#define CONDITION(n, usual, other)  (BRANCH == (n) ? (other) : (usual))
#define CONSTANT(n, usual, other)   (FLAG == (n) ? (other) : (usual))
#define NOINLINE                    __attribute__((noinline))

/* A pair may have another value here, and the same code. */
const volatile uint32_t input[8] = { 7, 10, 'b', 12, 1, 0x15, 0, 700 };

static volatile unsigned results[16];
static volatile unsigned shared, ticks;
static unsigned table[16];

static NOINLINE int find(unsigned wanted)
{
    for (unsigned i = 0; i < CONSTANT(1, 16u, 2u); ++i) {       /* FLAG 1 */
        if (table[i] == wanted)                                 /* INPUT 0 */
            return (int)i;
    }
    return -1;
}

static NOINLINE unsigned clamp(unsigned value)
{
    if (CONDITION(1, value > 12, value >= 10))                  /* INPUT 1, BRANCH 1 */
        ++results[14];
    return value;
}

static NOINLINE unsigned classify(uint32_t letter)
{
    switch (letter) {                                           /* INPUT 2 */
    case 'a': return results[1] + 3;
    case 'b': return results[2] * 5;
    case 'c': return results[3] ^ 7;
    case 'd': return results[4] - 1;
    case 'e': return results[5] << 2;
    case 'f': return results[6] | 9;
    default: return 0;
    }
}

static NOINLINE unsigned divisor(unsigned a, unsigned b)
{
    while (b != 0) {                                            /* INPUT 3 */
        unsigned rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static NOINLINE unsigned machine(uint32_t events)
{
    unsigned state = 0, steps = 0;

    while (steps < CONSTANT(2, 8u, 6u)) {                       /* FLAG 2 */
        if (events & 1u << steps)                               /* INPUT 5 */
            state = state * 3 + 1;
        else if (CONDITION(2, state > 2, state > 0))            /* BRANCH 2 */
            state -= 1;
        ++steps;
    }
    return state;
}

static NOINLINE unsigned add(unsigned a, unsigned b) { return a + b; }
static NOINLINE unsigned scale(unsigned a, unsigned b) { return a * b + results[7]; }

typedef unsigned (*operation)(unsigned, unsigned);
static const operation operations[] = { add, scale };

static NOINLINE unsigned operate(uint32_t which, unsigned a)
{
    return operations[which](a, 3) + 1;                         /* INPUT 6 */
}

static NOINLINE unsigned depth(unsigned level)
{
    if (CONDITION(3, level == 0, level <= 1))                   /* BRANCH 3 */
        return 0;
    return depth(level - 1) + 1;
}

static NOINLINE void sort(unsigned *values, unsigned count)
{
    for (unsigned i = 1; i < count; ++i) {
        unsigned value = values[i], at = i;
        while (at > 0 && CONDITION(4, values[at - 1] > value, values[at - 1] < value)) {        /* BRANCH 4 */
            values[at] = values[at - 1];
            --at;
        }
        values[at] = value;
    }
}

static NOINLINE unsigned check_sum(const volatile unsigned *data, unsigned count)
{
    unsigned sum = 0xFF;

    for (unsigned i = 0; i < count; ++i) {
        sum ^= data[i];
        for (unsigned bit = 0; bit < CONSTANT(3, 4u, 3u); ++bit) {      /* FLAG 3 */
            if (CONDITION(5, sum & 1, sum & 2))                         /* BRANCH 5 */
                ++results[15];
            sum = sum >> 1 ^ 0x8C;
        }
    }
    return sum;
}

static NOINLINE unsigned retry(uint32_t failures)
{
    unsigned tries = 0;

    do {
        ++tries;
        results[8] = tries;
    } while (tries <= failures);                                /* INPUT 4 */
    return CONSTANT(4, tries, clamp(tries));                    /* FLAG 4 */
}

void SysTick_Handler(void)
{
    ++ticks;
    shared = shared + 1;
}

/* Loses an update where the interrupt comes between load and store. */
static NOINLINE unsigned race(uint32_t period)
{
    unsigned own = 0;

    SYST_RVR = period - 1;
    SYST_CVR = 0;
    SYST_CSR = 7;
    while (ticks < CONSTANT(5, 4u, 5u)) {                       /* FLAG 5 */
        shared = shared + 1;
        ++own;
        if (CONDITION(6, own == 100, own == 90))                /* BRANCH 6 */
            results[9] = own;
    }
    SYST_CSR = 0;
    return shared == own + ticks;
}

unsigned run(void)
{
    for (unsigned i = 0; i < 16; ++i)
        table[i] = (i * 7 + 3) % 16;
    results[0] = (unsigned)find(input[0]);
    results[1] = clamp(input[1]);
    results[2] = classify(input[2]);
    results[3] = divisor(360, input[3]);
    results[4] = retry(input[4]);
    results[5] = machine(input[5]);
    results[6] = operate(input[6], results[0]);
    results[10] = depth(4);
    sort(table, 8);
    results[11] = check_sum(results, 4);
    if (race(input[7]))
        results[12] = 1;
    else
        results[13] = 1;
    return 0;
}
