/* A weather station: reads sentences from the serial port and keeps the extremes. */

#include "board/lib.h"

#define LINE            40

struct extremes {
    int32_t low, high;
    uint32_t sentences;
};

static struct extremes temperature = { 9999, -9999, 0 }, humidity = { 9999, -9999, 0 }, pressure = { 99999, 0, 0 };
static uint32_t ignored, length;

static NOINLINE char receive(void)
{
    while (!(UART_STATUS & UART_RXNE))
        ;
    return (char)UART_DATA;
}

static NOINLINE int32_t tenths(const char *text)
{
    int32_t value = 0;

    for (; *text && *text != ','; ++text)
        if (*text != '.')
            value = value * 10 + (*text - '0');
    return value;
}

static NOINLINE void note(struct extremes *of, int32_t value)
{
    if (value < of->low)
        of->low = value;
    if (value > of->high)
        of->high = value;
    ++of->sentences;
}

static NOINLINE void take_sentence(void)
{
    char line[LINE];
    char byte;

    length = 0;
    while ((byte = receive()) != '\n')
        line[length++] = byte;          /* CULPRIT */
    line[length] = 0;
    if (memcmp(line, "$TMP,", 5) == 0)
        note(&temperature, tenths(line + 5));
    else if (memcmp(line, "$HUM,", 5) == 0)
        note(&humidity, tenths(line + 5));
    else if (memcmp(line, "$PRS,", 5) == 0)
        note(&pressure, tenths(line + 5));
    else
        ++ignored;
}                                       /* FAULTS */

int main(void)
{
    uart_start(90, false);
    for (unsigned i = 0; i < 100; ++i) {
        take_sentence();
        if (i % 5 == 0)
            put_number((uint32_t)temperature.high);
    }
    return 0;
}
