/* The kernel and the core: frames, PendSV, SysTick and the first thread. */

#include "internal.h"

#define TICK            1200
#define EXC_RETURN      0xFFFFFFFDu     /* Thread mode, PSP, no floating-point registers in the frame */

#if __ARM_ARCH == 8
#define SAVE_LIMIT      "ldr    r2, [r1, #4]\n\tmsr    psplim, r2\n\t"
#undef EXC_RETURN
#define EXC_RETURN      0xFFFFFFBCu
#else
#define SAVE_LIMIT      ""
#endif

#ifdef __ARM_FP
#define SAVE_FLOATS     "tst    lr, #16\n\tit     eq\n\tvstmdbeq r0!, {s16-s31}\n\t"
#define RESTORE_FLOATS  "tst    lr, #16\n\tit     eq\n\tvldmiaeq r0!, {s16-s31}\n\t"
#else
#define SAVE_FLOATS     ""
#define RESTORE_FLOATS  ""
#endif

static void ended(void)
{
    failed(203);
}

uint32_t *os_port_frame(uint32_t *top, os_entry entry, void *argument)
{
    uint32_t *frame = top - 8;

    frame[0] = (uint32_t)argument;
    frame[5] = (uint32_t)ended;
    frame[6] = (uint32_t)entry & ~1u;
    frame[7] = 1u << 24;
    frame[-1] = EXC_RETURN;
    return frame - 9;
}

void os_port_pend(void)
{
    SCB_ICSR = ICSR_PENDSVSET;
    barrier();
}

__attribute__((naked)) void PendSV_Handler(void)
{
    __asm volatile(
        "mrs    r0, psp\n\t"
        "isb\n\t"
        "ldr    r3, =os_current\n\t"
        "ldr    r2, [r3]\n\t"
        SAVE_FLOATS
        "stmdb  r0!, {r4-r11, lr}\n\t"
        "str    r0, [r2]\n\t"
        "push   {r0, r3}\n\t"
        "mov    r0, #64\n\t"
        "msr    basepri, r0\n\t"
        "dsb\n\t"
        "isb\n\t"
        "bl     os_choose\n\t"
        "mov    r0, #0\n\t"
        "msr    basepri, r0\n\t"
        "pop    {r0, r3}\n\t"
        "ldr    r1, [r3]\n\t"
        "ldr    r0, [r1]\n\t"
        SAVE_LIMIT
        "ldmia  r0!, {r4-r11, lr}\n\t"
        RESTORE_FLOATS
        "msr    psp, r0\n\t"
        "isb\n\t"
        "bx     lr\n\t"
        ".ltorg");
}

void SysTick_Handler(void)
{
    uint32_t before;

    __asm volatile("mrs %0, basepri\n\tmsr basepri, %1\n\tisb" : "=&r"(before) : "r"(0x40) : "memory");
    if (os_tick())
        SCB_ICSR = ICSR_PENDSVSET;
    __asm volatile("msr basepri, %0" :: "r"(before) : "memory");
}

__attribute__((naked)) void SVC_Handler(void)
{
    __asm volatile(
        "ldr    r3, =os_current\n\t"
        "ldr    r1, [r3]\n\t"
        "ldr    r0, [r1]\n\t"
        SAVE_LIMIT
        "ldmia  r0!, {r4-r11, lr}\n\t"
        "msr    psp, r0\n\t"
        "isb\n\t"
        "mov    r0, #0\n\t"
        "msr    basepri, r0\n\t"
        "bx     lr\n\t"
        ".ltorg");
}

/* The main stack begins again at its top: handlers have it from now on. */
__attribute__((naked, noreturn)) static void start_first(void)
{
    __asm volatile(
        "ldr    r0, =_stack_top\n\t"
        "msr    msp, r0\n\t"
        "mov    r0, #0\n\t"
        "msr    control, r0\n\t"
        "cpsie  i\n\t"
        "cpsie  f\n\t"
        "dsb\n\t"
        "isb\n\t"
        "svc    0\n\t"
        "nop\n\t"
        ".ltorg");
}

void os_port_start(void)
{
    SCB_SHPR3 = 0xF0F00000;
    SYST_RVR = TICK;
    SYST_CVR = 0;
    SYST_CSR = 7;
    start_first();
}
