/* A tuner: bytes from the serial port choose actions by a table. */

#include "board/lib.h"

struct tuner {
    uint32_t frequency, volume, presets[4];
    bool muted;
};

typedef void action(struct tuner *tuner, unsigned argument);

static struct tuner tuner = { 88000, 10, { 88000, 94500, 101200, 107900 }, false };
static uint32_t handled;

static void preset(struct tuner *t, unsigned argument)
{
    t->frequency = t->presets[argument & 3];
}

static void up(struct tuner *t, unsigned argument)
{
    t->frequency += 100 * argument;
    if (t->frequency > 108000)
        t->frequency = 87500;
}

static void volume(struct tuner *t, unsigned argument)
{
    t->volume = argument * 2;
}

static void mute(struct tuner *t, unsigned argument)
{
    t->muted = argument & 1;
}

/* By the second character of a sentence. */
static action *const actions[] = { up, mute, volume, preset, up, volume, preset, mute };
static const uint32_t marks[] = { 0x54554E45, 0x52000001, 0xC0DEC0DE, 0xFACEFEED, 0xABADCAFE, 0xF00DF00D, 0xCAFED00D };

static NOINLINE uint8_t receive(void)
{
    while (!(UART_STATUS & UART_RXNE))
        ;
    return (uint8_t)UART_DATA;
}

static NOINLINE void handle(struct tuner *t, unsigned code, unsigned argument)
{
    action *act = actions[code];        /* CULPRIT */

    act(t, argument);                   /* FAULTS */
    ++handled;
}

static NOINLINE void sentence(void)
{
    unsigned sum = 0, length = 0;
    uint8_t byte;

    while ((byte = receive()) != '\n') {
        sum += byte;
        ++length;
    }
    handle(&tuner, length - 9, sum);    /* CULPRIT */
}

int main(void)
{
    uart_start(250, false);
    for (unsigned i = 0; i < 60; ++i) {
        sentence();
        put_number(tuner.frequency ^ marks[i % COUNT(marks)] % 7);
    }
    return 0;
}
