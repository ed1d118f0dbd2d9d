/* A pump with a watchdog in software: who does not feed it in time is reset, and finds out at the start. */

#include "board/lib.h"

#define ALIVE           0x600DF00Du
#define BARKED          0xDEADD06Eu

struct order {
    uint8_t valve;
    uint8_t seconds;
    struct order *next;
};

static volatile uint32_t why __attribute__((section(".noinit")));
static volatile uint32_t left, now;
static struct order orders[8], *waiting;
static uint32_t valves, flow;

__attribute__((noreturn, noinline)) void reset_by_watchdog(void)
{
    why = ALIVE;
    for (;;)
        __asm volatile("bkpt");
}

void SysTick_Handler(void)
{
    ++now;
    if (--left == 0) {
        why = BARKED;
        SCB_AIRCR = AIRCR_SYSRESETREQ;
        for (;;)
            ;
    }
}

static NOINLINE void feed(void)
{
    left = 6;
}

static NOINLINE void append(struct order *order)
{
    struct order **link = &waiting;

    order->next = NULL;
    while (*link != NULL)
        link = &(*link)->next;
    *link = order;
}

static NOINLINE void ask(unsigned number)
{
    struct order *order = &orders[number % COUNT(orders)];

    order->valve = (uint8_t)(number % 5);
    order->seconds = (uint8_t)(1 + number % 3);
    append(order);                      /* CULPRIT */
}

static NOINLINE void pump(void)
{
    struct order *order = waiting;

    if (order == NULL)
        return;
    valves ^= 1u << order->valve;
    flow += order->seconds;
    if (--order->seconds == 0)
        waiting = order->next;
}

int main(void)
{
    if (why == BARKED)
        reset_by_watchdog();
    feed();
    systick_start(600);
    for (unsigned number = 0; number < 500; ++number) {
        feed();
        if (number % 3 != 1)
            ask(number);
        pump();
        pump();
        for (unsigned i = 0; i < 10; ++i)
            flow += flow >> 4 & i;
        if (number == 60)
            for (unsigned i = 0; i < 9; ++i)
                ask(number + i);
    }
    return 0;
}
