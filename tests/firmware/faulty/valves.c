/* Valves of a greenhouse: each has a port, a bit, and the last times that it was opened. */

#include "board/lib.h"

#define VALVES          6
#define TIMES           4
#define MIDNIGHT        0x65000000u

struct valve {
    uint32_t times[TIMES];
    volatile uint32_t *port;
    uint8_t bit, next;
};

static struct valve valves[VALVES];
static volatile uint32_t ports[2];
static uint32_t opened, seed = 7;

static NOINLINE uint32_t chance(uint32_t limit)
{
    seed = seed * 1103515245u + 12345u;
    return (seed >> 16) % limit;
}

static NOINLINE void note(struct valve *valve, uint32_t time)
{
    valve->times[valve->next] = time;   /* CULPRIT */
    if (valve->next < TIMES)
        ++valve->next;
    else
        valve->next = 0;
}

static NOINLINE void set(const struct valve *valve, bool open)
{
    uint32_t before = open ? 0 : 1u << valve->bit;

    *valve->port = before ^ 1u << valve->bit;
    opened += open;
    if (before)
        opened ^= 0x100;
}

static NOINLINE uint32_t water(unsigned number, unsigned hour)
{
    struct valve *valve = &valves[number];
    uint32_t minutes = 5 + chance(40);

    set(valve, true);
    if (hour % 20 == number)
        note(valve, MIDNIGHT + hour * 3600 + minutes * 60);
    set(valve, false);
    return minutes;
}

int main(void)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < VALVES; ++i) {
        valves[i].port = &ports[i % 2];
        valves[i].bit = (uint8_t)i;
    }
    for (unsigned hour = 0; hour < 24 * 7; ++hour)
        for (unsigned i = 0; i < VALVES; ++i)
            sum += water(i, hour);
    return (int)sum;
}
