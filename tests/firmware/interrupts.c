/* Interrupts pended by the program itself: nesting, tail-chaining, SVC, PendSV, late unmasking, every kind of return.

   Priorities: IRQ2 0x20 before IRQ1 0x60 before IRQ0 and IRQ3 0xA0; SVC 0x40; PendSV 0xE0. */

#include "common.h"

static volatile char order[64];
static volatile unsigned length;

static void note(char what)
{
    order[length++] = what;
}

static void pend(unsigned interrupt)
{
    NVIC_ISPR0 = 1u << interrupt;
    barrier();
}

static bool happened(const char *expected)
{
    unsigned i;

    for (i = 0; expected[i]; ++i)
        if (order[i] != expected[i])
            return false;
    bool all = i == length;
    length = 0;
    return all;
}

/* Highest: never interrupted. A leaf, so it returns by BX LR. */
void IRQ2_Handler(void)
{
    order[length++] = '2';
}

/* Middle: is interrupted by IRQ2. */
void IRQ1_Handler(void)
{
    note('(');
    pend(2);
    note(')');
}

/* Low: is interrupted by IRQ1 and so by IRQ2, and leaves PendSV to be tail-chained. */
void IRQ0_Handler(void)
{
    note('[');
    SCB_ICSR = ICSR_PENDSVSET;
    pend(1);
    note(']');
}

/* As low as IRQ0; returns by LDM, with the flags of a compare in the stacked state. */
__attribute__((naked)) void IRQ3_Handler(void)
{
    __asm volatile(
        "push   {r4, lr}\n\t"
        "movs   r0, #'3'\n\t"
        "bl     note_from_asm\n\t"
        "ldmia  sp!, {r4, pc}");
}

__attribute__((used)) void note_from_asm(char what)
{
    note(what);
}

void PendSV_Handler(void)
{
    note('p');
}

/* The argument is the immediate of the SVC; the frame is the caller's. */
__attribute__((used)) void supervisor(uint32_t *frame)
{
    uint8_t number = ((uint8_t *)frame[6])[-2];

    note('a' + number);
    if (number == 1)
        pend(0);                /* below SVC: has to wait */
    if (number == 2)
        pend(2);                /* above SVC: at once */
    note('.');
    frame[0] += number;
}

__attribute__((naked)) void SVC_Handler(void)
{
    __asm volatile(
        "tst    lr, #4\n\t"
        "ite    eq\n\t"
        "mrseq  r0, msp\n\t"
        "mrsne  r0, psp\n\t"
        "b      supervisor");
}

static __attribute__((noinline)) unsigned call(unsigned which)
{
    register unsigned r0 __asm("r0") = 40;

    if (which == 0)
        __asm volatile("svc 0" : "+r"(r0) :: "memory");
    else if (which == 1)
        __asm volatile("svc 1" : "+r"(r0) :: "memory");
    else
        __asm volatile("svc 2" : "+r"(r0) :: "memory");
    return r0;
}

unsigned run(void)
{
    SCB_SHPR2 = 0x40u << 24;
    SCB_SHPR3 = 0xE0u << 16;
    NVIC_IPR0 = 0xA02060A0;
    NVIC_ISER0 = 0xF;

    pend(2);
    if (!happened("2"))
        return 1;
    pend(0);                                    /* three deep, then PendSV tail-chained */
    if (!happened("[(2)]p"))
        return 2;
    if (call(0) != 40 || !happened("a."))
        return 3;
    if (call(1) != 41 || !happened("b.[(2)]p")) /* IRQ0 tail-chained behind SVC, PendSV behind IRQ0 */
        return 4;
    if (call(2) != 42 || !happened("c2."))
        return 5;

    __asm volatile("cpsid i" ::: "memory");     /* all at once, in the order of their priorities */
    NVIC_ISPR0 = 0xF;
    barrier();
    SCB_ICSR = ICSR_PENDSVSET;
    note('m');
    __asm volatile("cpsie i\n\tisb" ::: "memory");
    if (!happened("m2(2)[(2)]3p"))
        return 6;

    __asm volatile("msr basepri, %0" :: "r"(0x60) : "memory");  /* holds back IRQ1 and below, not IRQ2 */
    pend(1);
    pend(2);
    note('b');
    __asm volatile("msr basepri, %0\n\tisb" :: "r"(0) : "memory");
    if (!happened("2b(2)"))
        return 7;

    unsigned flags = 0;
    for (unsigned i = 0; i < 8; ++i) {          /* return into the middle of compare and branch */
        NVIC_ISPR0 = 8;
        if (i & 1)
            ++flags;
    }
    barrier();
    if (flags != 4 || !happened("33333333"))
        return 8;
    return 0;
}
