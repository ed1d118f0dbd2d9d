/* A scope: samples are taken until the trigger, then the part around it is shown, and after many sweeps the means. */

#include "board/lib.h"

#define BEFORE          8
#define SHOWN           24
#define SWEEPS          6

struct means {
    uint32_t sums[SHOWN];
    uint32_t sweeps;
};

static struct {
    int16_t taken[64];
    int16_t shown[SHOWN];
    struct means *means;
    uint32_t shows;
} scope;

static struct means channel_a;
static uint32_t noise = 1, reports;

static NOINLINE int16_t convert(unsigned at, unsigned sweep)
{
    noise = noise * 1664525u + 1013904223u;
    return (int16_t)((noise >> 28) + (at > 30 + sweep % 9 ? 900 : 90));
}

static NOINLINE unsigned sweep_once(unsigned sweep)
{
    unsigned trigger = 0;

    for (unsigned at = 0; at < COUNT(scope.taken); ++at) {
        scope.taken[at] = convert(at, sweep);
        if (trigger == 0 && at > 0 && scope.taken[at] > scope.taken[at - 1] + 400)
            trigger = at;
    }
    return trigger;
}

/* From so many samples before the trigger to where the zoom ends. */
static NOINLINE void cut_out(unsigned trigger, unsigned zoom)
{
    unsigned last = trigger + SHOWN - BEFORE + zoom;

    for (unsigned at = trigger - BEFORE; at < last; ++at)
        scope.shown[at - (trigger - BEFORE)] = scope.taken[at];         /* CULPRIT */
    ++scope.shows;
}

static NOINLINE void draw(void)
{
    for (unsigned i = 0; i < SHOWN; ++i)
        UART_DATA = (uint32_t)scope.shown[i] >> 4;
}

static NOINLINE void report(void)
{
    struct means *means = scope.means;

    for (unsigned i = 0; i < SHOWN; ++i)
        means->sums[i] += (uint32_t)scope.shown[i];     /* FAULTS */
    ++means->sweeps;                    /* FAULTS */
    ++reports;
}

int main(void)
{
    scope.means = &channel_a;
    for (unsigned sweep = 1; sweep < 200; ++sweep) {
        unsigned trigger = sweep_once(sweep);
        cut_out(trigger, sweep == 14 ? 4 : 0);
        draw();
        if (sweep % SWEEPS == 0)
            report();
    }
    return 0;
}
