/* Two tasks and a scheduler in PendSV, on a core of Armv6-M. */

#include "../common.h"

#define TASKS  2
#define WORDS  128

static uint32_t stacks[TASKS][WORDS] __attribute__((aligned(8)));
uint32_t *saved[TASKS];
unsigned current;
static volatile unsigned rounds[TASKS];

__attribute__((naked)) void PendSV_Handler(void)
{
    __asm volatile(
        ".syntax unified\n\t"
        "mrs r0, psp\n\t"
        "subs r0, #32\n\t"
        "ldr r1, =current\n\t"
        "ldr r2, [r1]\n\t"
        "ldr r3, =saved\n\t"
        "lsls r2, #2\n\t"
        "str r0, [r3, r2]\n\t"
        "stmia r0!, {r4-r7}\n\t"
        "mov r4, r8\n\tmov r5, r9\n\tmov r6, r10\n\tmov r7, r11\n\t"
        "stmia r0!, {r4-r7}\n\t"
        "movs r0, #4\n\t"
        "eors r2, r0\n\t"
        "lsrs r0, r2, #2\n\t"
        "str r0, [r1]\n\t"
        "ldr r0, [r3, r2]\n\t"
        "adds r0, #16\n\t"
        "ldmia r0!, {r4-r7}\n\t"
        "mov r8, r4\n\tmov r9, r5\n\tmov r10, r6\n\tmov r11, r7\n\t"
        "msr psp, r0\n\t"
        "subs r0, #32\n\t"
        "ldmia r0!, {r4-r7}\n\t"
        "bx lr\n\t"
        ".ltorg");
}

void SysTick_Handler(void)
{
    SCB_ICSR = ICSR_PENDSVSET;
}

static unsigned fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static void work(unsigned which)
{
    for (;;) {
        if (fibonacci(which + 5) != (which ? 8u : 5u))
            failed(1);
        rounds[which]++;
        if (which == 1 && rounds[0] > 6 && rounds[1] > 6) {
            SYST_CSR = 0;
            finished();
        }
    }
}

static void first(void)
{
    work(0);
}

static void second(void)
{
    work(1);
}

static uint32_t *prepared(unsigned which, void (*begin)(void))
{
    uint32_t *frame = &stacks[which][WORDS - 16];
    frame[14] = (uint32_t)(uintptr_t)begin & ~1u;
    frame[15] = 1u << 24;
    return frame;
}

unsigned run(void)
{
    saved[1] = prepared(1, second);
    prepared(0, first);
    SCB_SHPR3 = 0x40C00000;
    SYST_RVR = 230;
    SYST_CVR = 0;
    __asm volatile(".syntax unified\n\tmsr psp, %0\n\tmovs r0, #2\n\tmsr control, r0\n\tisb" ::"r"(&stacks[0][WORDS]) : "r0", "memory");
    SYST_CSR = 7;
    first();
    return 1;
}
