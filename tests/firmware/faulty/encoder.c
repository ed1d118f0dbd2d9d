/* A wheel's encoder: edges are timed, and the speed is the mean of the newest times. */

#include "board/lib.h"

#define TIMES           8

struct wheel {
    uint32_t times[TIMES];
    unsigned next;
    uint32_t teeth, speed, stalls;
};

static struct wheel left = { { 900, 900, 900, 900, 900, 900, 900, 900 }, 0, 36, 0, 0 };
static struct wheel right = { { 800, 800, 800, 800, 800, 800, 800, 800 }, 0, 36, 0, 0 };
static uint32_t odometer;

static NOINLINE uint32_t capture(unsigned edge, unsigned wheel)
{
    uint32_t time = 700 + (edge * 37 + wheel * 11) % 300;

    return edge > 60 && edge < 90 && wheel == 1 ? 0 : time;
}

static NOINLINE void edge_at(struct wheel *wheel, uint32_t time)
{
    if (time == 0)
        ++wheel->stalls;
    wheel->times[wheel->next] = time;   /* CULPRIT */
    wheel->next = (wheel->next + 1) % TIMES;
}

static NOINLINE uint32_t mean(const struct wheel *wheel)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < TIMES; ++i)
        sum += wheel->times[i];
    return sum / TIMES;
}

static NOINLINE uint32_t speed_of(const struct wheel *wheel)
{
    return 60000000u / (mean(wheel) * wheel->teeth);    /* CULPRIT FAULTS */
}                                       /* FAULTS */

static NOINLINE void drive(unsigned edge)
{
    edge_at(&left, capture(edge, 0));
    edge_at(&right, capture(edge, 1));
    left.speed = speed_of(&left);
    right.speed = speed_of(&right);
    odometer += left.speed > right.speed ? left.speed - right.speed : right.speed - left.speed;
}

int main(void)
{
    SCB_CCR |= CCR_DIV_0_TRP;
    for (unsigned edge = 0; edge < 200; ++edge) {
        drive(edge);
        if (edge % 10 == 0)
            put_number(odometer);
    }
    return 0;
}
