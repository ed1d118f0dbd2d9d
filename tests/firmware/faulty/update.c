/* A boot manager moves the vector table to RAM, so that an application can hang in its own handlers. */

#include "board/lib.h"

#define VECTORS         48

enum { SYSTICK = 15, UART = 16 };

extern void (*const vectors[])(void);

static void (*table[VECTORS])(void) __attribute__((aligned(256)));
static volatile uint32_t ticks;
static uint32_t received, lines, blocks;

static void count_tick(void)
{
    ++ticks;
}

static void take_byte(void)
{
    uint32_t byte = UART_DATA;

    received += byte;
    if (byte == '\n')
        ++lines;
}

static NOINLINE void move_vectors(void)
{
    for (unsigned i = 0; i < 19; ++i)
        table[i] = vectors[i];
    SCB_VTOR = (uint32_t)table;
    barrier();
}

static NOINLINE void attach(unsigned exception, void (*handler)(void))
{
    irq_disable();
    table[exception] = handler;         /* CULPRIT */
    irq_enable();
}

/* Patches come as pairs of a number and an address, the address of a function as the linker wrote it. */
static NOINLINE void patch(const uint32_t *pairs, unsigned count)
{
    for (unsigned i = 0; i < count; ++i)
        attach(pairs[2 * i], (void (*)(void))(pairs[2 * i + 1] & ~1u));         /* CULPRIT */
}

static NOINLINE uint32_t checksum(uint32_t seed)
{
    for (unsigned i = 0; i < 64; ++i)
        seed = (seed << 5 | seed >> 27) ^ (i * 2654435761u);
    return seed;
}

int main(void)
{
    uint32_t seed = 1;

    move_vectors();
    attach(SYSTICK, count_tick);
    attach(UART, take_byte);
    systick_start(400);
    while (ticks < 20)
        seed = checksum(seed + ticks);
    uint32_t pairs[] = { UART, (uint32_t)take_byte };
    patch(pairs, 1);
    uart_start(900, true);
    while (ticks < 60) {
        seed = checksum(seed + ticks);
        ++blocks;
    }
    put_number(seed);
    return 0;
}
