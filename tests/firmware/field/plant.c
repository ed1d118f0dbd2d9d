/* A plant's control on the executive of exec/: loops with one entry function, a supervisor, and reports from a pool. */

#include "exec/exec.h"

#define LOOPS           3
#define STACK_WORDS     128
#define TICKS           150

struct report {
    struct report *next;
    uint8_t loop, kind;
    int16_t value, error, output;
    char text[];
};

struct loop {
    exec_thread thread;
    uint32_t words[STACK_WORDS] __attribute__((aligned(8)));
    unsigned channel;
    int32_t target, integral, last, output;
    int16_t gains[3];
    unsigned rounds, lost;
};

static struct loop loops[LOOPS];
static exec_thread supervisor, reporter, busy;
static uint32_t supervisor_words[STACK_WORDS] __attribute__((aligned(8)));
static uint32_t reporter_words[STACK_WORDS] __attribute__((aligned(8)));
static uint32_t busy_words[STACK_WORDS] __attribute__((aligned(8)));
static uint64_t pool_area[96];
static struct exec_pool pool;
static struct exec_semaphore waiting, plant;
static struct exec_flags events;
static struct exec_timer blink, watch;
static struct report *first_report, **last_report = &first_report;
static volatile uint32_t blinks, reported, length, least = ~0u;

static int32_t limit(int32_t value, int32_t low, int32_t high)
{
    return value < low ? low : value > high ? high : value;
}

static unsigned put_decimal(char *text, int32_t value)
{
    char digits[12];
    unsigned count = 0, at = 0;
    uint32_t rest = value < 0 ? 0u - (uint32_t)value : (uint32_t)value;

    do
        digits[count++] = (char)('0' + rest % 10);
    while ((rest /= 10) != 0);
    if (value < 0)
        text[at++] = '-';
    while (count != 0)
        text[at++] = digits[--count];
    text[at] = 0;
    return at;
}

static bool report(struct loop *loop, int32_t error)
{
    struct report *made = exec_pool_get(&pool, sizeof *made + 8 + (unsigned)(error & 7));

    if (made == NULL) {
        ++loop->lost;
        return false;
    }
    made->next = NULL;
    made->loop = (uint8_t)loop->channel;
    made->kind = error < 0;
    made->value = (int16_t)loop->last;
    made->error = (int16_t)error;
    made->output = (int16_t)loop->output;
    put_decimal(made->text, limit(error, -9999, 9999));
    exec_semaphore_get(&plant, EXEC_FOREVER);
    *last_report = made;
    last_report = &made->next;
    exec_semaphore_put(&plant);
    exec_semaphore_put(&waiting);
    return true;
}

static __attribute__((noipa)) int32_t regulate(struct loop *loop, int32_t measured)
{
    int32_t error = loop->target - measured, slope = measured - loop->last;

    loop->integral = limit(loop->integral + error, -20000, 20000);
    loop->last = measured;
    loop->output = (error * loop->gains[0] + loop->integral * loop->gains[1] / 16 - slope * loop->gains[2]) / 64;
    return error;
}

static void control(void *argument)
{
    struct loop *self = argument;

    for (;;) {
        int32_t error = regulate(self, (int32_t)(SAMPLE(self->channel) & 0xFFF));
        OUTPUT(self->channel) = (uint32_t)self->output;
        ++self->rounds;
        if ((error & 12) == 8 && !report(self, error))
            exec_sleep(2);
        uint32_t got = exec_flags_get(&events, 1u << self->channel | 0x80, (uint32_t)error & 1);
        if (got & 0x80)
            self->integral = 0;
        else if (got != 0)
            self->target += (self->channel & 1) != 0 ? 5 : -5;
        if ((error & 31) == 7)
            exec_relinquish();
        if ((self->rounds & 15) == 0)
            exec_sleep(1 + self->channel);
    }
}

static void write_reports(void *argument)
{
    (void)argument;
    for (;;) {
        if (!exec_semaphore_get(&waiting, 6))
            continue;
        exec_semaphore_get(&plant, EXEC_FOREVER);
        struct report *taken = first_report;
        first_report = taken->next;
        if (first_report == NULL)
            last_report = &first_report;
        exec_semaphore_put(&plant);
        for (const char *at = taken->text; *at != 0; ++at) {
            OUTPUT_BYTE = (uint8_t)*at;
            ++length;
        }
        ++reported;
        exec_pool_put(&pool, taken);
    }
}

static void supervise(void *argument)
{
    const struct loop *seen = argument;

    for (;;) {
        exec_sleep(5);
        for (unsigned i = 0; i < LOOPS; ++i)
            if (seen[i].integral > 15000 || seen[i].integral < -15000)
                exec_flags_set(&events, 0x80);
        exec_flags_set(&events, 1u << exec_time() % LOOPS);
        if (exec_time() > TICKS) {
            if (reported == 0 || length < reported || blinks == 0)
                failed(2);
            finished();
        }
    }
}

static uint32_t fold(uint32_t depth, uint32_t value)
{
    return depth == 0 ? value : fold(depth - 1, value * 17 + depth) ^ depth << 3;
}

static void keep_busy(void *argument)
{
    (void)argument;
    for (uint32_t n = 0; n < 30000; ++n) {
        uint32_t value = fold(n & 3, n);
        if (value < least)
            least = value;
        if (n % 64 == 0)
            exec_sleep(1);
    }
}

static void on_blink(void *context)
{
    ++*(volatile uint32_t *)context;
}

static void on_watch(void *context)
{
    exec_flags_set(context, 2);
}

unsigned program(void)
{
    exec_begin();
    exec_pool_begin(&pool, pool_area, sizeof pool_area);
    exec_semaphore_begin(&waiting, 0);
    exec_semaphore_begin(&plant, 1);
    exec_flags_begin(&events);
    for (unsigned i = 0; i < LOOPS; ++i) {
        struct loop *loop = &loops[i];
        loop->channel = i;
        loop->target = 1500 + 100 * (int32_t)i;
        loop->gains[0] = (int16_t)(40 + 8 * i);
        loop->gains[1] = 5;
        loop->gains[2] = 3;
        exec_thread_begin(&loop->thread, control, loop, loop->words, STACK_WORDS, 4, 2);
    }
    exec_thread_begin(&reporter, write_reports, NULL, reporter_words, STACK_WORDS, 3, 0);
    exec_thread_begin(&supervisor, supervise, loops, supervisor_words, STACK_WORDS, 1, 0);
    exec_thread_begin(&busy, keep_busy, NULL, busy_words, STACK_WORDS, 6, 3);
    exec_timer_begin(&blink, on_blink, (void *)&blinks, 4, 4);
    exec_timer_begin(&watch, on_watch, &events, 7, 9);
    exec_run();
    return 1;
}
