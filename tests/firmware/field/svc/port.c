/* The kernel and the core: SVC, PendSV and SysTick, which all leave through one switch. */

#include "internal.h"

#define TICK            1500

#if __ARM_ARCH == 8
#define FIRST_RETURN    0xFFFFFFBCu
#define LIMIT           "ldr    r0, [r2, %[limit]]\n\tmsr    psplim, r0\n\t"
#else
#define FIRST_RETURN    0xFFFFFFFDu
#define LIMIT           ""
#endif

#ifdef __ARM_FP
#define SAVE_FLOATS     "tst    lr, #16\n\tit     eq\n\tvstmdbeq r12!, {s16-s31}\n\t"
#define RESTORE_FLOATS  "tst    lr, #16\n\tit     eq\n\tvldmiaeq r0!, {s16-s31}\n\t"
#else
#define SAVE_FLOATS     ""
#define RESTORE_FLOATS  ""
#endif

#define OFFSETS         \
    :: [stack] "i"(offsetof(svc_thread, stack)), [limit] "i"(offsetof(svc_thread, limit)), \
       [back] "i"(offsetof(svc_thread, exc_return)), [privileged] "i"(offsetof(svc_thread, privileged))

/* The function stands in r12, its arguments in r0 to r2; the result comes in r0. */
__attribute__((noinline)) uint32_t svc_call(svc_function function, uint32_t a, uint32_t b, uint32_t c)
{
    register uint32_t r0 __asm("r0") = a;
    register uint32_t r1 __asm("r1") = b;
    register uint32_t r2 __asm("r2") = c;
    register svc_function r12 __asm("r12") = function;

    __asm volatile("svc 0" : "+r"(r0) : "r"(r1), "r"(r2), "r"(r12) : "memory");
    return r0;
}

__attribute__((naked)) void SVC_Handler(void)
{
    __asm volatile(
        "tst    lr, #4\n\t"
        "ite    eq\n\t"
        "mrseq  r0, msp\n\t"
        "mrsne  r0, psp\n\t"
        "ldr    r1, [r0, #24]\n\t"
        "ldrb   r1, [r1, #-2]\n\t"
        "cmp    r1, #0\n\t"
        "bne    svc_leave\n\t"
        "push   {r0, lr}\n\t"
        "ldr    r12, [r0, #16]\n\t"
        "ldm    r0, {r0-r3}\n\t"
        "blx    r12\n\t"
        "pop    {r12, lr}\n\t"
        "str    r0, [r12]\n\t"
        "svc_leave:\n\t"
        "ldr    r3, =kernel\n\t"
        "ldm    r3, {r1, r2}\n\t"
        "cmp    r1, r2\n\t"
        "it     eq\n\t"
        "bxeq   lr\n\t"
        "str    r2, [r3]\n\t"
        "cbz    r1, svc_restore\n\t"
        "mrs    r12, psp\n\t"
        SAVE_FLOATS
        "stmdb  r12!, {r4-r11}\n\t"
        "str    r12, [r1, %[stack]]\n\t"
        "str    lr, [r1, %[back]]\n\t"
        "push   {r1, r2}\n\t"
        "mov    r0, r1\n\t"
        "mov    r1, r2\n\t"
        "bl     svc_switched\n\t"
        "pop    {r1, r2}\n"
        "svc_restore:\n\t"
        LIMIT
        "ldrb   r0, [r2, %[privileged]]\n\t"
        "eor    r0, r0, #1\n\t"
        "mrs    r1, control\n\t"
        "bfi    r1, r0, #0, #1\n\t"
        "msr    control, r1\n\t"
        "ldr    lr, [r2, %[back]]\n\t"
        "ldr    r0, [r2, %[stack]]\n\t"
        "ldmia  r0!, {r4-r11}\n\t"
        RESTORE_FLOATS
        "msr    psp, r0\n\t"
        "bx     lr\n\t"
        ".ltorg"
        OFFSETS);
}

__attribute__((naked)) void PendSV_Handler(void)
{
    __asm volatile(
        "push   {r4, lr}\n\t"
        "bl     svc_process_posted\n\t"
        "pop    {r4, lr}\n\t"
        "b      svc_leave");
}

__attribute__((naked)) void SysTick_Handler(void)
{
    __asm volatile(
        "push   {r4, lr}\n\t"
        "bl     svc_tick\n\t"
        "pop    {r4, lr}\n\t"
        "b      svc_leave");
}

/* The first thread comes by SVC 1, which only switches. */
void svc_run(void)
{
    svc_thread *first = kernel.ready.waiting;

    for (svc_thread *thread = first; thread != NULL; thread = thread->next)
        thread->exc_return = FIRST_RETURN;
    SCB_SHPR2 = 0xF0000000;
    SCB_SHPR3 = 0xF0F00000;
    svc_unlink(first);
    first->object.state = RUNNING;
    kernel.run.next = first;
    SYST_RVR = TICK;
    SYST_CVR = 0;
    SYST_CSR = 7;
    __asm volatile("svc 1" ::: "memory");
    failed(213);
}
