/* A logger: values of four channels as lines of text, kept in a ring and sent when there are enough. */

#include <stdio.h>
#include <string.h>

#include "board/chip.h"

#define LINES           8
#define WIDTH           28

static char ring[LINES][WIDTH];
static unsigned next, kept;
static uint32_t sent;

static const char *const units[] = { "mV", "mA", "C", "rpm" };

static NOINLINE int32_t sample(unsigned channel, unsigned second)
{
    int32_t value = (int32_t)((channel + 1) * 97 * (second + 3) % 4000) - 900;

    if (channel == 3 && second >= 5)
        value = -2147483 * (int32_t)second;
    return value;
}

static NOINLINE void keep(const char *line, size_t length)
{
    memcpy(ring[next], line, length < WIDTH ? length : WIDTH);
    next = (next + 1) % LINES;
    if (kept < LINES)
        ++kept;
}

static NOINLINE void log_value(unsigned second, unsigned channel, int32_t value)
{
    char line[24];
    int length;

    length = sprintf(line, "%u ch%u=%ld %s", second * 1000, channel, (long)value, units[channel]);
    if (channel == 3 && second >= 5)
        length += sprintf(line + length, " !overspeed limit %d %s", 15000, units[channel]);     /* CULPRIT */
    keep(line, (size_t)length + 1);
}                                       /* FAULTS */

static NOINLINE void send(void)
{
    for (unsigned i = 0; i < kept; ++i)
        for (const char *at = ring[i]; *at && at < ring[i] + WIDTH; ++at)
            UART_DATA = (uint8_t)*at;
    kept = 0;
    ++sent;
}

int main(void)
{
    for (unsigned second = 0; second < 20; ++second) {
        for (unsigned channel = 0; channel < 4; ++channel)
            log_value(second, channel, sample(channel, second));
        if (kept == LINES)
            send();
    }
    return 0;
}
