/* Exceptions inside of others, one after the other, and at every place, on a core of Armv6-M. */

#include "../common.h"

#define NVIC_ICER0 REG(0xE000E180)

static volatile unsigned depth, deepest, served[5];
static volatile bool handed_on;

static void entered(unsigned which)
{
    served[which]++;
    if (++depth > deepest)
        deepest = depth;
}

/* The lowest priority: the two others come inside of it, the higher one inside of the lower one. */
void IRQ0_Handler(void)
{
    entered(0);
    NVIC_ISPR0 = 1u << 1;
    barrier();
    depth--;
}

void IRQ1_Handler(void)
{
    entered(1);
    NVIC_ISPR0 = 1u << 2;
    barrier();
    depth--;
}

void IRQ2_Handler(void)
{
    entered(2);
    depth--;
}

/* Asks for PendSV, which follows without a return in between. */
void SVC_Handler(void)
{
    entered(3);
    SCB_ICSR = ICSR_PENDSVSET;
    depth--;
}

void PendSV_Handler(void)
{
    entered(4);
    handed_on = true;
    depth--;
}

static volatile unsigned ticks;

void SysTick_Handler(void)
{
    ticks++;
}

static unsigned mixed(unsigned seed)
{
    for (unsigned n = 0; n < 12; n++)
        seed = (seed & 1) ? (seed >> 1) ^ 0xEDB88320u : seed >> 1;
    return seed;
}

unsigned run(void)
{
    /* Two bits of priority: IRQ0 3, IRQ1 2, IRQ2 1; SVCall and PendSV 3; SysTick 0. */
    NVIC_IPR0 = 0x004080C0;
    SCB_SHPR2 = 0xC0000000;
    SCB_SHPR3 = 0x00C00000;
    NVIC_ISER0 = 7;
    NVIC_ISPR0 = 1;
    barrier();
    if (deepest != 3 || served[0] != 1 || served[1] != 1 || served[2] != 1)
        return 1;
    for (unsigned n = 0; n < 4; n++) {
        handed_on = false;
        __asm volatile("svc #3" ::: "memory");
        barrier();
        if (!handed_on)
            return 2;
    }
    /* The tick comes a little later each time: before the first instruction of a handler, too. */
    unsigned sum = 0;
    for (unsigned n = 20; n < 60; n++) {
        SYST_RVR = n;
        SYST_CVR = 0;
        SYST_CSR = 7;
        sum += mixed(n);
        NVIC_ISPR0 = 1;
        __asm volatile("svc #4" ::: "memory");
        sum ^= mixed(sum);
        SYST_CSR = 0;
    }
    if (ticks == 0 || served[0] != 41)
        return 3;
    /* Level 2 and 1 wait while this one is masked. */
    __asm volatile("cpsid i" ::: "memory");
    NVIC_ISPR0 = 6;
    sum += mixed(sum);
    __asm volatile("cpsie i\n\tisb" ::: "memory");
    __asm volatile("wfe\n\tyield\n\tnop" ::: "memory");
    return sum == 0 ? 4 : 0;
}
