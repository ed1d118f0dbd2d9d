/* Two tasks on the process stack that hand the core to each other: SVC asks, PendSV switches. */

#include "common.h"

#define STACK_WORDS 64
#define ROUNDS      6

static uint32_t stacks[2][STACK_WORDS] __attribute__((aligned(8)));
static uint32_t *saved[2];
static volatile unsigned current, progress[2];
static volatile char order[32];
static volatile unsigned length;
static uint32_t *volatile home;

static void yield(void)
{
    __asm volatile("svc 0" ::: "memory");
}

void SVC_Handler(void)
{
    SCB_ICSR = ICSR_PENDSVSET;
}

__attribute__((used)) uint32_t *switch_task(uint32_t *stack)
{
    if (home == 0) {            /* the first time the core comes from run() */
        home = stack;
        saved[0][8] = saved[1][8] = stack[8];
        return saved[0];
    }
    saved[current] = stack;
    if (progress[0] >= ROUNDS && progress[1] >= ROUNDS)
        return home;
    current ^= 1;
    return saved[current];
}

__attribute__((naked)) void PendSV_Handler(void)
{
    __asm volatile(
        "mrs    r0, psp\n\t"
        "stmdb  r0!, {r4-r11, lr}\n\t"
        "bl     switch_task\n\t"
        "ldmia  r0!, {r4-r11, lr}\n\t"
        "msr    psp, r0\n\t"
        "bx     lr");
}

static void task(void)
{
    for (;;) {
        unsigned me = current, work = 0;

        for (unsigned i = 0; i <= progress[me] + me; ++i)
            work += i;
        order[length++ % sizeof order] = 'A' + me + (work == 0xFFFF);
        ++progress[me];
        yield();
    }
}

static uint32_t *new_stack(uint32_t *top)
{
    uint32_t *frame = top - 17;

    for (unsigned i = 0; i < 17; ++i)
        frame[i] = 0x01010101 * i;
    /* frame[8], EXC_RETURN, is not the same in Armv7-M and Armv8-M: it is taken from the first switch. */
    frame[15] = (uint32_t)task & ~1u;
    frame[16] = 1u << 24;
    return frame;
}

unsigned run(void)
{
    static uint32_t own[STACK_WORDS] __attribute__((aligned(8)));

    SCB_SHPR3 = 0xE0u << 16;
    saved[0] = new_stack(stacks[0] + STACK_WORDS);
    saved[1] = new_stack(stacks[1] + STACK_WORDS);
    __asm volatile("msr psp, %0" :: "r"(own + STACK_WORDS));
    register unsigned r0 __asm("r0") = 2;
    /* The call to the tasks: leave for the process stack, and be back here when they are done. */
    __asm volatile(
        "mrs    r1, control\n\t"
        "orr    r1, r0\n\t"
        "msr    control, r1\n\t"
        "isb\n\t"
        "svc    0\n\t"
        "mrs    r1, control\n\t"
        "bic    r1, r0\n\t"
        "msr    control, r1\n\t"
        "isb"
        : "+r"(r0) :: "r1", "memory");

    if (length != 2 * ROUNDS)
        return 1;
    for (unsigned i = 0; i < length; ++i)
        if (order[i] != (i & 1 ? 'B' : 'A'))
            return 2;
    return 0;
}
