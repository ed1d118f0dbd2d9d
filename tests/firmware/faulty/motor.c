/* A motor controller: speed loop at each tick, its output goes to whichever bridge was found at the start. */

#include "board/lib.h"

#define HISTORY         8

struct drive {
    int32_t target, speed, integral;
    unsigned next;
    int16_t errors[HISTORY];
    void (*output)(int32_t duty);
    uint32_t saturated;
};

static struct drive drive;
static volatile uint32_t ticks;
static volatile int32_t bridge_a, bridge_b;

static void half_bridge(int32_t duty)
{
    bridge_a = duty;
}

static void full_bridge(int32_t duty)
{
    bridge_a = duty > 0 ? duty : 0;
    bridge_b = duty < 0 ? -duty : 0;
}

void SysTick_Handler(void)
{
    ++ticks;
}

/* The plant: what the encoder would say. */
static NOINLINE int32_t encoder(void)
{
    static int32_t speed;

    speed += (bridge_a - bridge_b - speed) / 8;
    return speed;
}

static NOINLINE void remember(struct drive *d, int32_t error)
{
    if (d->next > HISTORY)
        d->next = 0;
    d->errors[d->next++] = (int16_t)error;      /* CULPRIT */
}

static NOINLINE int32_t trend(const struct drive *d)
{
    int32_t sum = 0;

    for (unsigned i = 0; i < HISTORY; ++i)
        sum += d->errors[i];
    return sum / HISTORY;
}

static NOINLINE int32_t regulate(struct drive *d)
{
    int32_t error, duty;

    d->speed = encoder();
    error = d->target - d->speed;
    d->integral += error;
    duty = error * 2 + d->integral / 4 + trend(d);
    if (duty > 1000 || duty < -1000) {
        duty = duty > 0 ? 1000 : -1000;
        d->integral -= error;
        ++d->saturated;
    }
    return duty;
}

static NOINLINE void step(struct drive *d, uint32_t now)
{
    int32_t duty = regulate(d);

    if (now % 4 == 0)
        remember(d, d->target - d->speed);
    if (now % 32 == 31)
        d->target = -d->target;
    if (now % 6 == 5)
        d->output(duty);                /* FAULTS */
}

int main(void)
{
    bool full = (SCB_CPUID & 0xFF000000) == 0x41000000;
    uint32_t done = 0;

    drive.target = 400;
    drive.output = full ? full_bridge : half_bridge;
    systick_start(300);
    while (done < 500)
        if (ticks != done)
            step(&drive, done++);
    return 0;
}
