/* A cooperative scheduler: jobs with a period in a table, and the idle job behind it. */

#include "board/lib.h"

#define JOBS            5

struct job {
    uint32_t runs;
    uint16_t period, left;
    void (*run)(void);
};

static struct {
    struct job jobs[JOBS];
    void (*idle)(void);
    uint32_t idle_runs, since;
} plan;

static volatile uint32_t ticks;
static uint32_t lamp, keys, sum, bytes;

void SysTick_Handler(void)
{
    ++ticks;
}

static void blink(void)
{
    lamp ^= 1;
}

static void scan(void)
{
    keys = (keys << 1 | (keys >> 30 & 1)) ^ 0x55;
}

static void add_up(void)
{
    for (unsigned i = 0; i < JOBS; ++i)
        sum += plan.jobs[i].runs;
}

static void send(void)
{
    UART_DATA = bytes++ & 0x7F;
}

static void statistics(void)
{
    put_number(sum);
}

static void sleep(void)
{
    ++plan.idle_runs;
}

static NOINLINE void add(unsigned place, void (*run)(void), unsigned period)
{
    struct job *job = &plan.jobs[place];

    job->run = run;
    job->period = job->left = (uint16_t)period;
    job->runs = 0;
}

/* All begin anew together, so that their phases are known. */
static NOINLINE void realign(void)
{
    for (unsigned i = 0; i <= JOBS; ++i) {
        struct job *job = &plan.jobs[i];
        job->runs = 0;                  /* CULPRIT */
        job->left = job->period;
    }
}

static NOINLINE bool tick(void)
{
    bool busy = false;

    for (unsigned i = 0; i < JOBS; ++i) {
        struct job *job = &plan.jobs[i];
        if (--job->left == 0) {
            job->left = job->period;
            ++job->runs;
            job->run();
            busy = true;
        }
    }
    return busy;
}

int main(void)
{
    uint32_t done = 0;

    add(0, blink, 10);
    add(1, scan, 3);
    add(2, add_up, 7);
    add(3, send, 2);
    add(4, statistics, 20);
    plan.idle = sleep;
    systick_start(170);
    while (done < 300) {
        if (ticks == done)
            continue;
        ++done;
        if (!tick())
            plan.idle();                /* FAULTS */
        if (done % 84 == 0)
            realign();
    }
    return 0;
}
