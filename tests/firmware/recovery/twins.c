/* Threads that run the same code, each on a channel of its own, preempted where they are; one more collects. */

#define TASKS           5
#define STACK_WORDS     160
#include "threads.h"

#define TWINS           4
#define DEPTH           16
#ifdef __OPTIMIZE__
#define RECORDS         130
#else
#define RECORDS         50
#endif

struct channel;

struct mutex {
    struct task *volatile owner;
    unsigned waited;
};

struct record {
    uint16_t channel, length;
    int32_t low, high, mean;
    uint32_t check;
};

struct channel {
    const char *name;
    int32_t (*shape)(struct channel *channel, int32_t sample);
    int32_t state, scale;
    int16_t samples[DEPTH];
    uint8_t number, at;
    uint32_t sequence, check;
};

static int32_t straight(struct channel *channel, int32_t sample);
static int32_t smooth(struct channel *channel, int32_t sample);

/* The first two are twins to the last bit but for their numbers. */
static struct channel channels[TWINS] = {
    { .name = "left", .shape = smooth, .scale = 3, .number = 0 },
    { .name = "right", .shape = smooth, .scale = 3, .number = 1 },
    { .name = "front", .shape = straight, .scale = 5, .number = 2 },
    { .name = "back", .shape = smooth, .scale = 2, .number = 3 },
};
static struct record log[8];
static volatile unsigned written, seen;
static struct mutex log_mutex;
static unsigned collected[TWINS], wrong;

static void acquire(struct mutex *mutex)
{
    for (;;) {
        uint32_t primask = lock();
        struct task *owner = mutex->owner;
        if (owner == 0)
            mutex->owner = current;
        unlock(primask);
        if (owner == 0)
            return;
        ++mutex->waited;
        yield();
    }
}

static void let_go(struct mutex *mutex)
{
    mutex->owner = 0;
}

static int32_t straight(struct channel *channel, int32_t sample)
{
    return sample * channel->scale >> 2;
}

static int32_t smooth(struct channel *channel, int32_t sample)
{
    channel->state += ((sample << 8) - channel->state) / (1 << channel->scale);
    return channel->state >> 8;
}

static __attribute__((noinline)) uint32_t check_of(uint32_t check, int32_t value)
{
    for (int i = 0; i < 4; ++i, value >>= 8) {
        check ^= value & 0xFF;
        check *= 16777619;
    }
    return check;
}

static __attribute__((noinline)) void measure(struct channel *channel, struct record *record)
{
    int32_t sum = 0;

    record->channel = channel->number;
    record->length = channel->at;
    record->low = record->high = channel->samples[0];
    record->check = 2166136261u ^ channel->number;
    for (unsigned i = 0; i < channel->at; ++i) {
        int32_t sample = channel->samples[i];
        if (sample < record->low)
            record->low = sample;
        if (sample > record->high)
            record->high = sample;
        sum += sample;
        record->check = check_of(record->check, sample);
    }
    record->mean = sum / channel->at;
    channel->check ^= record->check;
    ++channel->sequence;
}

static __attribute__((noinline)) void publish(const struct record *record)
{
    for (;;) {
        acquire(&log_mutex);
        if (written - seen < COUNT(log))
            break;
        let_go(&log_mutex);
        sleep(1);
    }
    log[written % COUNT(log)] = *record;
    ++written;
    let_go(&log_mutex);
}

/* What all twins run. */
static void serve(struct channel *channel)
{
    struct record record;

    for (;;) {
        int32_t sample = (int32_t)(SAMPLE(channel->number) & 0xFFF) - 2048;
        channel->samples[channel->at++] = channel->shape(channel, sample);
        if (channel->at < DEPTH)
            continue;
        measure(channel, &record);
        publish(&record);
        channel->at = 0;
        if (channel->sequence % 4 == 0)
            sleep(1 + channel->number);
        else
            yield();
    }
}

static void finish(void)
{
    uint32_t low = ~0u;

    lock();
    for (unsigned i = 0; i < TWINS; ++i)
        if (collected[i] < low)
            low = collected[i];
    if (wrong || low < 4)
        failed(2 + wrong);
    finished();
}

static void collect(void)
{
    uint32_t checks[TWINS] = { channels[0].check, channels[1].check, channels[2].check, channels[3].check };
    unsigned count = 0;

    while (count < RECORDS) {
        struct record record;
        acquire(&log_mutex);
        bool some = seen != written;
        if (some)
            record = log[seen++ % COUNT(log)];
        let_go(&log_mutex);
        if (!some) {
            sleep(1);
            continue;
        }
        ++count;
        checks[record.channel] ^= record.check;
        ++collected[record.channel];
        if (record.low > record.mean || record.mean > record.high || record.length != DEPTH)
            ++wrong;
        OUTPUT(record.channel) = record.mean;
    }
    for (unsigned i = 0; i < TWINS; ++i)
        OUTPUT(i) = checks[i] ^ channels[i].check;
    finish();
}

unsigned run(void)
{
    SCB_SHPR3 = 0xE0E00000;
    for (unsigned i = 0; i < TASKS; ++i) {
        make(&tasks[i], i < TWINS ? (void (*)(void))serve : collect);
        if (i < TWINS)
            tasks[i].stack[FIRST_ARGUMENT] = (uint32_t)&channels[i];
        tasks[i].next = &tasks[(i + 1) % TASKS];
    }
    current = &tasks[0];
    SYST_RVR = 700;
    SYST_CVR = 0;
    SYST_CSR = 7;
    __asm volatile("svc 0" ::: "memory");
    return 1;
}
