/* Vector table, what comes before main, and where faults end that a program has no handler for. */

#include "chip.h"

extern uint32_t _data_load[], _data_start[], _data_end[], _bss_start[], _bss_end[], _stack_top[];
extern void (*__init_array_start[])(void), (*__init_array_end[])(void);

__attribute__((noreturn)) void Reset_Handler(void);
__attribute__((noreturn, noinline)) void ended(void);
extern void (*const vectors[])(void);

void Reset_Handler(void)
{
    const uint32_t *from = _data_load;
    for (uint32_t *to = _data_start; to < _data_end; )
        *to++ = *from++;
    for (uint32_t *to = _bss_start; to < _bss_end; )
        *to++ = 0;
    for (void (**constructor)(void) = __init_array_start; constructor < __init_array_end; ++constructor)
        (*constructor)();
    main();
    ended();
}

/* A program that came to its end without a fault. */
void ended(void)
{
    for (;;)
        __asm volatile("bkpt 7");
}

#define HANDLER(name, number) \
    __attribute__((weak, naked)) void name(void) { __asm volatile("bkpt " #number "\n\tb ."); }

HANDLER(NMI_Handler, 2)
HANDLER(HardFault_Handler, 3)
HANDLER(MemManage_Handler, 4)
HANDLER(BusFault_Handler, 5)
HANDLER(UsageFault_Handler, 6)
HANDLER(SVC_Handler, 11)
HANDLER(PendSV_Handler, 14)
HANDLER(SysTick_Handler, 15)
HANDLER(UART_Handler, 16)
HANDLER(TIMER_Handler, 17)
HANDLER(DMA_Handler, 18)

void NMI_Handler(void);

__attribute__((section(".vectors"), used))
void (*const vectors[])(void) = {
    (void (*)(void))_stack_top, Reset_Handler,
    NMI_Handler, HardFault_Handler, MemManage_Handler, BusFault_Handler, UsageFault_Handler,
    0, 0, 0, 0,
    SVC_Handler, 0, 0, PendSV_Handler, SysTick_Handler,
    UART_Handler, TIMER_Handler, DMA_Handler,
};
