/*
 * Threads on stacks of their own: SysTick preempts, PendSV saves and restores.  Defined before: TASKS, STACK_WORDS;
 * ALL_ON_MSP if handlers are to use the threads' stacks; EITHER_STACK if a thread may use either stack pointer, as bit 2
 * of EXC_RETURN says; ODD_STACKS as 1 if each is to begin 4 bytes below a multiple of 8, as those of some kernels do.
 */

#ifndef THREADS_H
#define THREADS_H

#include "inputs.h"
#include "limits.h"

#ifndef ODD_STACKS
#define ODD_STACKS      0
#endif

struct task {
    uint32_t *stack;
    struct task *next;
    volatile uint32_t wake;
    uint32_t switches;
    uint32_t words[STACK_WORDS] __attribute__((aligned(8)));
};

static struct task tasks[TASKS], *volatile current;
static volatile uint32_t ticks;
static uint32_t exc_return;

/* The main stack has no limit while it is each of them in turn. */
static void set_limit(const struct task *task)
{
#ifdef ALL_ON_MSP
    (void)task;
    set_main_limit(0);
#else
    set_process_limit((uint32_t)task->words);
#endif
}

static void yield(void)
{
    SCB_ICSR = ICSR_PENDSVSET;
    barrier();
}

void SysTick_Handler(void)
{
    ++ticks;
    SCB_ICSR = ICSR_PENDSVSET;
}

__attribute__((used)) uint32_t *switch_task(uint32_t *stack)
{
    struct task *candidate = current;

    candidate->stack = stack;
    do
        candidate = candidate->next;
    while ((int32_t)(candidate->wake - ticks) > 0);
    ++candidate->switches;
    current = candidate;
    set_limit(candidate);
    return candidate->stack;
}

#ifdef ALL_ON_MSP

__attribute__((naked)) void PendSV_Handler(void)
{
    __asm volatile(
        "push   {r4-r11, lr}\n\t"
        "mov    r0, sp\n\t"
        "sub    sp, #4\n\t"
        "bl     switch_task\n\t"
        "mov    sp, r0\n\t"
        "pop    {r4-r11, lr}\n\t"
        "bx     lr");
}

/* Starts the first task: its stack pointer becomes that of an exception return. */
__attribute__((naked)) void SVC_Handler(void)
{
    __asm volatile(
        "ldr    r0, =exc_return_place\n\t"
        "ldr    r0, [r0]\n\t"
        "str    lr, [r0]\n\t"
        "bl     first_stack\n\t"
        "mov    sp, r0\n\t"
        "pop    {r4-r11, lr}\n\t"
        "bx     lr");
}

#else

__attribute__((naked)) void PendSV_Handler(void)
{
#ifdef EITHER_STACK
    __asm volatile(
        "tst    lr, #4\n\t"
        "ite    eq\n\t"
        "mrseq  r0, msp\n\t"
        "mrsne  r0, psp\n\t"
        "stmdb  r0!, {r4-r11, lr}\n\t"
        "it     eq\n\t"
        "moveq  sp, r0\n\t"
        "bl     switch_task\n\t"
        "ldmia  r0!, {r4-r11, lr}\n\t"
        "tst    lr, #4\n\t"
        "ite    eq\n\t"
        "msreq  msp, r0\n\t"
        "msrne  psp, r0\n\t"
        "bx     lr");
#else
    __asm volatile(
        "mrs    r0, psp\n\t"
        "stmdb  r0!, {r4-r11, lr}\n\t"
        "bl     switch_task\n\t"
        "ldmia  r0!, {r4-r11, lr}\n\t"
        "msr    psp, r0\n\t"
        "bx     lr");
#endif
}

/* Starts the first task: its stack pointer becomes that of an exception return. */
__attribute__((naked)) void SVC_Handler(void)
{
    __asm volatile(
        "ldr    r0, =exc_return_place\n\t"
        "ldr    r0, [r0]\n\t"
        "orr    r1, lr, #4\n\t"
        "str    r1, [r0]\n\t"
        "bl     first_stack\n\t"
        "ldmia  r0!, {r4-r11, lr}\n\t"
        "msr    psp, r0\n\t"
        "bx     lr");
}

#endif

__attribute__((used)) uint32_t *const exc_return_place = &exc_return;

__attribute__((used)) uint32_t *first_stack(void)
{
    for (unsigned i = 0; i < TASKS; ++i)
        tasks[i].stack[8] = exc_return;
    set_limit(current);
    return current->stack;
}

static uint32_t lock(void)
{
    uint32_t primask;

    __asm volatile("mrs %0, primask\n\tcpsid i" : "=r"(primask) :: "memory");
    return primask;
}

static void unlock(uint32_t primask)
{
    __asm volatile("msr primask, %0" :: "r"(primask) : "memory");
}

static void sleep(uint32_t time)
{
    current->wake = ticks + time;
    yield();
}

/* The word of a new thread's stack that its function gets as an argument. */
#define FIRST_ARGUMENT  9

static void make(struct task *task, void (*entry)(void))
{
    uint32_t *frame = task->words + STACK_WORDS - 17 - ODD_STACKS;

    for (unsigned i = 0; i < 17; ++i)
        frame[i] = 0x01010101 * i;
    frame[15] = (uint32_t)entry & ~1u;
    frame[16] = 1u << 24;
    task->stack = frame;
}

#endif
