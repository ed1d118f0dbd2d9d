/* A kernel that starts its first thread by a jump, from main: what called it has another stack. */

#include "board/lib.h"

#define STACK_WORDS     96
#define TO_HANDLER      0xFFFFFFF1u     /* EXC_RETURN: to a handler */
#define FRAME_WORDS     17
/* Kernels start the first thread by either. */
#ifdef __OPTIMIZE__
#define START           "bx"
#else
#define START           "blx"
#endif

struct thread {
    uint32_t *sp;
    struct thread *next;
    uint32_t stack[STACK_WORDS] __attribute__((aligned(8)));
};

static struct thread runner, keeper;
struct thread *current;
static uint32_t main_stack[64] __attribute__((aligned(8)));
static volatile uint32_t laps, kept;

/* What PendSV restores: r4 to r11 and EXC_RETURN, then what an exception pushes. */
static NOINLINE void make(struct thread *thread, void (*body)(void), struct thread *next, uint32_t psr, uint32_t exc_return)
{
    uint32_t *sp = thread->stack + STACK_WORDS - FRAME_WORDS;

    for (unsigned i = 0; i < 8; ++i)
        sp[i] = 0x04040404u * (i + 1);
    sp[8] = exc_return;
    sp[15] = (uint32_t)body;
    sp[16] = psr;
    thread->sp = sp;
    thread->next = next;
}

__attribute__((naked)) void PendSV_Handler(void)
{
    __asm volatile(                     /* FAULTS */
        "mrs    r0, psp\n\t"
        "stmdb  r0!, {r4-r11, lr}\n\t"
        "ldr    r2, =current\n\t"
        "ldr    r1, [r2]\n\t"
        "str    r0, [r1]\n\t"
        "ldr    r1, [r1, #4]\n\t"
        "str    r1, [r2]\n\t"
        "ldr    r0, [r1]\n\t"
        "ldmia  r0!, {r4-r11, lr}\n\t"
        "msr    psp, r0\n\t"
        "bx     lr");
}

__attribute__((naked, noreturn, noinline)) static void start_first(uint32_t *sp, uint32_t *handlers)
{
    __asm volatile(
        "msr    msp, r1\n\t"
        "msr    psp, r0\n\t"
        "movs   r2, #2\n\t"
        "msr    control, r2\n\t"
        "isb\n\t"
        "pop    {r4-r11, lr}\n\t"
        "ldr    r1, [sp, #24]\n\t"
        "add    sp, #32\n\t"
        START "  r1");
}

static NOINLINE void yield(void)
{
    SCB_ICSR = ICSR_PENDSVSET;
    barrier();
}

static NOINLINE uint32_t churn(uint32_t value)
{
    for (unsigned i = 0; i < 9; ++i)
        value = value * 1103515245u + 12345;
    return value >> 16;
}

static void keep(void)
{
    for (;;) {
        kept = churn(laps);
        yield();
    }
}

static void run(void)
{
    make(&keeper, keep, &runner, 1u << 24, TO_HANDLER);    /* CULPRIT */
    for (;;) {
        kept += churn(++laps);
        if (laps == 5)
            yield();
    }
}

int main(void)
{
    SCB_SHPR3 = 0xFFu << 16;
    current = &runner;
    make(&runner, run, &keeper, 1u << 24, return_to_thread());
    start_first(runner.sp, main_stack + COUNT(main_stack));
}
