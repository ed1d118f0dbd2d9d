/* Hard faults that the handler steps over, in a nested call, beside an interrupt and in a handler's callee. */

#include "common.h"

static volatile unsigned faults, interrupts, seen;

/* Go on behind the load that faulted, which is 2 or 4 bytes long. */
__attribute__((used)) void skip(uint32_t *frame)
{
    uint16_t code = *(uint16_t *)frame[6];

    ++faults;
    frame[6] += code >= 0xE800 ? 4 : 2;
}

__attribute__((naked)) void HardFault_Handler(void)
{
    __asm volatile("mrs r0, msp\n\tb skip");
}

void IRQ0_Handler(void)
{
    ++interrupts;
}

static __attribute__((noinline)) unsigned bad_load(const volatile unsigned *from)
{
    unsigned value = 5;

    seen += *from;
    return value + 1;
}

static __attribute__((noinline)) unsigned nested(unsigned n)
{
    if (n == 0)
        return bad_load((const volatile unsigned *)0x90000000);
    return nested(n - 1) + 1;
}

static __attribute__((noinline)) void interrupted(void)
{
    NVIC_ISPR0 = 1;
    barrier();
    seen += bad_load((const volatile unsigned *)0x90000010);
    NVIC_ISPR0 = 1;
    barrier();
}

unsigned run(void)
{
    NVIC_ISER0 = 1;
    for (unsigned i = 0; i < 20; ++i)
        if (nested(i & 3) != 6 + (i & 3))
            return 1;
    interrupted();
    if (faults != 21 || interrupts != 2)
        return 2;
    return 0;
}
