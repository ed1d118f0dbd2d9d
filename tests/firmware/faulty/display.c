/* A display of four lines of text: each page writes its lines, and a driver shows what has changed. */

#include <stdio.h>
#include <string.h>

#include "board/chip.h"

#define COLUMNS         16
#define LINES           4

static struct {
    char lines[LINES][COLUMNS + 1];
    char shown[LINES][COLUMNS + 1];
    const struct driver {
        void (*write)(unsigned line, const char *text);
        unsigned contrast;
    } *driver;
    unsigned page;
} screen;

static uint32_t written;

static void write_serial(unsigned line, const char *text)
{
    UART_DATA = '0' + line;
    for (; *text; ++text)
        UART_DATA = (uint8_t)*text;
    ++written;
}

static const struct driver serial = { write_serial, 40 };

static NOINLINE void refresh(void)
{
    for (unsigned i = 0; i < LINES; ++i)
        if (strcmp(screen.lines[i], screen.shown[i]) != 0) {
            strncpy(screen.shown[i], screen.lines[i], COLUMNS);
            screen.driver->write(i, screen.lines[i]);   /* FAULTS */
        }
}

static NOINLINE void page_status(unsigned second)
{
    sprintf(screen.lines[0], "up %u s", second);
    sprintf(screen.lines[1], "load %u %%", second * 13 % 100);
}

static NOINLINE void page_totals(unsigned second)
{
    unsigned wh = second * second * 431;

    sprintf(screen.lines[2], "%u Wh", wh);
    sprintf(screen.lines[3],            /* CULPRIT */
            "%u.%03u kWh, %s tariff %s for the whole of this month, with %u.%02u in credit still to be paid out",
            wh / 1000, wh % 1000, second > 4 ? "high" : "low", "of the day", second, wh % 100);
}

static NOINLINE void page_alarm(unsigned second)
{
    if (second % 4 == 3)
        sprintf(screen.lines[1], "alarm %u", second);
}

int main(void)
{
    screen.driver = &serial;
    for (unsigned second = 0; second < 20; ++second) {
        page_status(second);
        page_alarm(second);
        if (second == 5)
            page_totals(second);
        refresh();
    }
    return 0;
}
