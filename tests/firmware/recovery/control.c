/* A control loop: samples, filters by function pointers, 64-bit arithmetic, soft float, PID, a task table, a log. */

#include "inputs.h"

#define CHANNELS        4
#ifdef __OPTIMIZE__
#define ROUNDS          160
#else
#define ROUNDS          60
#endif
#define LOG             32

struct channel;
typedef int32_t (*filter_t)(struct channel *channel, int32_t sample);

struct channel {
    filter_t filter;
    int32_t target, integral, previous, output;
    int16_t kp, ki, kd, limit;
    union {
        struct { int32_t x1, x2, y1, y2; } biquad;
        struct { int32_t window[5]; unsigned at; } median;
        float smooth;
        struct { int32_t sum; int16_t values[8]; uint8_t at; } average;
    } state;
};

struct task {
    void (*work)(void);
    uint16_t period, left;
};

static int32_t biquad(struct channel *channel, int32_t sample);
static int32_t median(struct channel *channel, int32_t sample);
static int32_t smooth(struct channel *channel, int32_t sample);
static int32_t average(struct channel *channel, int32_t sample);

static struct channel channels[CHANNELS] = {
    { .filter = biquad, .target = 2000, .kp = 40, .ki = 6, .kd = 10, .limit = 900 },
    { .filter = median, .target = 1500, .kp = 30, .ki = 3, .kd = 5, .limit = 700 },
    { .filter = smooth, .target = 1000, .kp = 25, .ki = 2, .kd = 0, .limit = 500 },
    { .filter = average, .target = 2500, .kp = 60, .ki = 8, .kd = 20, .limit = 1000 },
};
static struct { uint32_t time; char text[12]; } events[LOG];
static unsigned logged, now, alarms;
static uint32_t longest;

static int32_t biquad(struct channel *channel, int32_t sample)
{
    int64_t sum = (int64_t)sample * 4821 + (int64_t)channel->state.biquad.x1 * 9642
        + (int64_t)channel->state.biquad.x2 * 4821 + (int64_t)channel->state.biquad.y1 * 75543
        - (int64_t)channel->state.biquad.y2 * 29291;
    int32_t result = sum >> 16;

    channel->state.biquad.x2 = channel->state.biquad.x1;
    channel->state.biquad.x1 = sample;
    channel->state.biquad.y2 = channel->state.biquad.y1;
    channel->state.biquad.y1 = result;
    return result;
}

static int32_t median(struct channel *channel, int32_t sample)
{
    int32_t sorted[5];

    channel->state.median.window[channel->state.median.at] = sample;
    channel->state.median.at = (channel->state.median.at + 1) % 5;
    for (int i = 0; i < 5; ++i) {
        int32_t value = channel->state.median.window[i];
        int j = i;
        for (; j > 0 && sorted[j - 1] > value; --j)
            sorted[j] = sorted[j - 1];
        sorted[j] = value;
    }
    return sorted[2];
}

static int32_t smooth(struct channel *channel, int32_t sample)
{
    channel->state.smooth += 0.125f * ((float)sample - channel->state.smooth);
    return channel->state.smooth;
}

static int32_t average(struct channel *channel, int32_t sample)
{
    uint8_t at = channel->state.average.at++ & 7;

    channel->state.average.sum += sample - channel->state.average.values[at];
    channel->state.average.values[at] = sample;
    return channel->state.average.sum / 8;
}

static int32_t clamp(int32_t value, int32_t limit)
{
    return value > limit ? limit : value < -limit ? -limit : value;
}

static __attribute__((noinline)) void decimal(char *out, int32_t value)
{
    char digits[11];
    unsigned count = 0;
    uint32_t rest = value < 0 ? -(uint32_t)value : (uint32_t)value;

    do
        digits[count++] = '0' + rest % 10;
    while ((rest /= 10) != 0);
    if (value < 0)
        *out++ = '-';
    while (count > 0)
        *out++ = digits[--count];
    *out = 0;
}

static __attribute__((noinline)) void note(int32_t value)
{
    unsigned at = logged++ % LOG;

    events[at].time = now;
    decimal(events[at].text, value);
}

static __attribute__((noinline)) int32_t control(struct channel *channel, int32_t measured)
{
    int32_t error = channel->target - measured;
    int64_t sum;

    channel->integral = clamp(channel->integral + error, 20000);
    sum = (int64_t)channel->kp * error + (int64_t)channel->ki * channel->integral
        + (int64_t)channel->kd * (error - channel->previous);
    channel->previous = error;
    channel->output = clamp(sum / 64, channel->limit);
    return channel->output;
}

static void regulate(void)
{
    for (unsigned i = 0; i < CHANNELS; ++i) {
        struct channel *channel = &channels[i];
        int32_t measured = channel->filter(channel, SAMPLE(i) & 0xFFF);
        int32_t output = control(channel, measured);
        OUTPUT(i) = output;
        if (output == channel->limit || output == -channel->limit) {
            ++alarms;
            if (alarms % 8 == 0)
                note(measured);
        }
    }
}

static void report(void)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < CHANNELS; ++i)
        sum += channels[i].output * (i + 1);
    note((int32_t)sum);
}

static void retune(void)
{
    for (unsigned i = 0; i < CHANNELS; ++i)
        channels[i].target += (int32_t)(now % 7) - 3;
}

static void measure(void)
{
    uint32_t length = 0;

    for (unsigned i = 0; i < LOG; ++i) {
        const char *text = events[i].text;
        uint32_t own = 0;
        while (text[own] != 0)
            ++own;
        length += own;
    }
    if (length > longest)
        longest = length;
}

static struct task tasks[] = { { regulate, 1, 1 }, { report, 10, 10 }, { retune, 7, 7 }, { measure, 25, 25 } };

unsigned run(void)
{
    for (now = 0; now < ROUNDS; ++now)
        for (unsigned i = 0; i < COUNT(tasks); ++i)
            if (--tasks[i].left == 0) {
                tasks[i].left = tasks[i].period;
                tasks[i].work();
            }
    return logged > 16 && longest > 0 ? 0 : 1;
}
