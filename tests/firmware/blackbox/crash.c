/* A program with the black box: it works, and then fails as it is asked to. */

#include "../common.h"
#include "etm_blackbox.h"

#define COUNT 8u

enum way { NOT_YET, CALL, LOAD, STACK, ASSERTION, DIVISION, WATCHDOG, TRAP };

/* What is asked for, once the program is there; a reset leaves it. */
__attribute__((section(".noinit"), used)) volatile enum way order;
/* What etm_blackbox_begin() gave, and what the end of a crash was. */
volatile int begun;
__attribute__((section(".noinit"), used)) volatile unsigned finished_crashes;

typedef unsigned function(unsigned);

static unsigned same(unsigned value)
{
    return value;
}

static unsigned twice(unsigned value)
{
    return value * 2;
}

struct device {
    unsigned samples[COUNT];
    function *filter;
    const volatile unsigned *port;
};

static unsigned reading = 3;
/* Not static, so that no compiler takes it apart. */
struct device device = {{0}, same, &reading};
static volatile unsigned sum;
volatile unsigned answers;
/* Samples that come: one too many. */
static volatile unsigned coming = COUNT + 1;

/* A sample more than there is place for is written over the filter. */
__attribute__((noinline)) void collect(unsigned count)
{
    for (unsigned i = 0; i < count; ++i)
        device.samples[i] = 0x30000001u + 2 * i; /* CULPRIT */
}

__attribute__((noinline)) unsigned filtered(unsigned value)
{
    return device.filter(value) + 1;
}

__attribute__((noinline)) unsigned sampled(void)
{
    return *device.port + reading;
}

__attribute__((noinline)) unsigned deeper(unsigned depth)
{
    volatile unsigned kept[16];

    kept[depth & 15] = depth;
    return deeper(depth + 1) + kept[depth & 15];
}

__attribute__((noinline)) unsigned shared(unsigned whole, unsigned parts)
{
    return whole / parts;
}

static void check(unsigned value)
{
    if (value > 100)
        etm_blackbox_fault();
}

static __attribute__((noinline)) void work(void)
{
    device.filter = twice;
    for (unsigned i = 0; i < 300; ++i) {
        sum += filtered(i & 7);
        device.filter = i & 1 ? twice : same;
    }
}

/* A device that never answers. */
__attribute__((noinline)) void await(void)
{
    while (!answers) /* HANGS */
        ;
}

unsigned run(void)
{
    while (order == NOT_YET)
        ;
    begun = etm_blackbox_begin();
    if (begun)
        finished();
#if !ETM_BLACKBOX_A
    /* A division by zero is a fault, where there is a divider. */
    REG(0xE000ED14) |= 1u << 4;
#endif
    work();
    switch (order) {
    case CALL:
        collect(coming);
        return filtered(1);
    case LOAD:
        device.port = (const volatile unsigned *)0x30000000;
        return sampled();
    case STACK:
        return deeper(0);
    case ASSERTION:
        check(200 + sum);
        return 1;
    case DIVISION:
        device.samples[0] = sum - sum;
        return shared(1, device.samples[0]);
    case TRAP:
        if (sum)
            __builtin_trap();
        return 1;
    default:
        await();
        return 0;
    }
}

void etm_blackbox_done(void)
{
    ++finished_crashes;
}
