#include "board.h"
#include "weather.h"

static volatile uint32_t ticks;
static volatile bool heartbeat;

void SysTick_Handler(void)
{
    ++ticks;
    if (ticks % 4 == 0)
        heartbeat = !heartbeat;
}

void timer_start(uint32_t reload)
{
    SCB_SHPR3 = 0xC0u << 24;    /* below the serial port, which cannot wait */
    SYST_RVR = reload - 1;
    SYST_CVR = 0;
    SYST_CSR = 7;               /* processor clock, interrupt, on */
}

/* True once every so many ticks. */
bool timer_due(uint32_t period)
{
    static uint32_t last;
    uint32_t now = ticks;

    if (now - last < period)
        return false;
    last = now;
    return true;
}
