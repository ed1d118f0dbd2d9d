/* Vector table, start and end of the test programs. */

#include "common.h"

extern uint32_t _data_load[], _data_start[], _data_end[], _bss_start[], _bss_end[], _stack_top[];

void Reset_Handler(void)
{
    const uint32_t *from = _data_load;
    for (uint32_t *to = _data_start; to < _data_end; )
        *to++ = *from++;
    for (uint32_t *to = _bss_start; to < _bss_end; )
        *to++ = 0;
    unsigned check = run();
    if (check != 0)
        failed(check);
    finished();
}

void finished(void)
{
    for (;;)
        __asm volatile("bkpt");
}

void failed(unsigned check)
{
    for (;;)
        __asm volatile("bkpt 1" :: "r"(check));
}

/* A fault, or an interrupt that the program does not know. */
void Unexpected_Handler(void)
{
    failed(~0u);
}

#define HANDLER(name) __attribute__((weak, alias("Unexpected_Handler"))) void name(void)

HANDLER(HardFault_Handler);
HANDLER(MemManage_Handler);
HANDLER(BusFault_Handler);
HANDLER(UsageFault_Handler);
HANDLER(SVC_Handler);
HANDLER(PendSV_Handler);
HANDLER(SysTick_Handler);
HANDLER(IRQ0_Handler);
HANDLER(IRQ1_Handler);
HANDLER(IRQ2_Handler);
HANDLER(IRQ3_Handler);

__attribute__((section(".vectors"), used))
static void (*const vectors[])(void) = {
    (void (*)(void))_stack_top, Reset_Handler,
    Unexpected_Handler, HardFault_Handler, MemManage_Handler,
    BusFault_Handler, UsageFault_Handler, Unexpected_Handler, 0, 0, 0,
    SVC_Handler, Unexpected_Handler, 0, PendSV_Handler, SysTick_Handler,
    IRQ0_Handler, IRQ1_Handler, IRQ2_Handler, IRQ3_Handler,
};
