/* A kernel of three threads with messages; the blocks of the threads hold what PendSV restores. */

#include "board/lib.h"

#define THREADS         3
#define STACK_WORDS     80
#define NOTES           4

struct thread {
    uint32_t notes[NOTES];
    uint32_t exc_return;                /* of the thread's last exception */
    uint32_t *sp;
    uint32_t written, stack[STACK_WORDS] __attribute__((aligned(8)));
};

static struct thread threads[THREADS];
static unsigned running;
static volatile uint32_t work[THREADS];

void SysTick_Handler(void)
{
    SCB_ICSR = ICSR_PENDSVSET;
}

struct context {
    uint32_t *sp;
    uint32_t exc_return;
};

__attribute__((used)) static uint64_t switch_thread(uint32_t *sp, uint32_t exc_return)
{
    struct thread *thread = &threads[running];

    thread->sp = sp;
    thread->exc_return = exc_return;
    running = (running + 1) % THREADS;
    thread = &threads[running];
    return (uint64_t)thread->exc_return << 32 | (uint32_t)thread->sp;
}

__attribute__((naked)) void PendSV_Handler(void)
{
    __asm volatile(                     /* FAULTS */
        "mrs    r0, psp\n\t"
        "stmdb  r0!, {r4-r11}\n\t"
        "mov    r1, lr\n\t"
        "push   {r4, lr}\n\t"
        "bl     switch_thread\n\t"
        "pop    {r4, lr}\n\t"
        "ldmia  r0!, {r4-r11}\n\t"
        "msr    psp, r0\n\t"
        "bx     r1");
}

static NOINLINE void note(unsigned thread, uint32_t value)
{
    struct thread *to = &threads[thread];

    if (to->written > NOTES)
        to->written = 0;
    to->notes[to->written++] = value;   /* CULPRIT */
}

static NOINLINE uint32_t churn(uint32_t value)
{
    for (unsigned i = 0; i < 9; ++i)
        value = value * 1103515245u + 12345;
    return value >> 16;
}

static void first(void)
{
    for (uint32_t i = 0;; ++i)
        work[0] += churn(i) & 15;
}

static void second(void)
{
    for (uint32_t i = 1;; ++i) {
        work[1] ^= churn(work[0] + i);
        if (i % 20 == 0)
            note(2, ~i);
    }
}

static void third(void)
{
    for (uint32_t i = 0;; ++i) {
        work[2] += threads[2].notes[i % NOTES];
        if (work[2] == 1)
            note(0, work[2]);
    }
}

static void make(struct thread *thread, void (*body)(void))
{
    uint32_t *sp = thread->stack + STACK_WORDS - 16;

    sp[14] = (uint32_t)body;
    sp[15] = 1u << 24;
    thread->sp = sp;
    thread->exc_return = return_to_thread();
}

int main(void)
{
    make(&threads[0], first);
    make(&threads[1], second);
    make(&threads[2], third);
    SCB_SHPR3 = 0xFFu << 16;
    __asm volatile("msr psp, %0\n\tmov r0, #2\n\tmsr control, r0\n\tisb" :: "r"(threads[0].stack + STACK_WORDS) : "r0");
    systick_start(503);
    first();
    return 0;
}
