/* Vector table, and what has to happen before main. */

#include <stdint.h>

extern uint32_t _data_load[], _data_start[], _data_end[], _bss_start[], _bss_end[], _stack_top[];

int main(void);
void HardFault_Handler(void);
void SysTick_Handler(void);
void UART_Handler(void);

void Reset_Handler(void)
{
    const uint32_t *from = _data_load;
    for (uint32_t *to = _data_start; to < _data_end; )
        *to++ = *from++;
    for (uint32_t *to = _bss_start; to < _bss_end; )
        *to++ = 0;
    main();
    for (;;)
        ;
}

static void Default_Handler(void)
{
    for (;;)
        ;
}

__attribute__((section(".vectors"), used))
static void (*const vectors[])(void) = {
    (void (*)(void))_stack_top,
    Reset_Handler,
    Default_Handler,            /* NMI */
    HardFault_Handler,
    Default_Handler,            /* MemManage */
    Default_Handler,            /* BusFault */
    Default_Handler,            /* UsageFault */
    Default_Handler,            /* SecureFault */
    0, 0, 0,
    Default_Handler,            /* SVCall */
    Default_Handler,            /* DebugMonitor */
    0,
    Default_Handler,            /* PendSV */
    SysTick_Handler,
    UART_Handler,               /* interrupt 0 */
};
