/* A debugger that is attached stops here. */
void HardFault_Handler(void)
{
    __asm volatile("bkpt");
    for (;;)
        ;
}
