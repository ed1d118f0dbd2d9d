/* A weather station on the kernel of os/: sensors, a filter, a store under a mutex, a radio, and timers. */

#include "os/os.h"

#define SENSORS         3
#define READINGS        600
#define TICKS           120

struct reading {
    uint16_t sensor, sequence;
    int32_t raw;
    float smooth;
};

struct sensor {
    unsigned channel;
    uint16_t sequence;
    float state[2], gain;
    os_thread *thread;
    struct sensor *next;
};

struct record {
    struct record *older;
    uint16_t sensor, sequence;
    float value;
};

struct store {
    os_mutex *mutex;
    struct record *newest;
    unsigned records, dropped;
    float low[SENSORS], high[SENSORS];
};

static uint64_t area[3072];
static struct sensor *sensors;
static struct store store;
static os_queue *readings, *frames;
static os_thread *radio_thread;
static volatile unsigned collected, sent, beats, alarms;

static __attribute__((noipa)) float filter(struct sensor *sensor, float value)
{
    sensor->state[0] += (value - sensor->state[0]) * sensor->gain;
    sensor->state[1] = sensor->state[1] * 0.75f + sensor->state[0] * 0.25f;
    return sensor->state[1] > 4000.0f ? 4000.0f : sensor->state[1];
}

static void measure(void *argument)
{
    struct sensor *self = argument;

    for (;;) {
        struct reading reading = { .sensor = (uint16_t)self->channel, .sequence = self->sequence++ };

        reading.raw = (int32_t)(SAMPLE(self->channel) & 0xFFF) - 2048;
        reading.smooth = filter(self, (float)reading.raw);
        if (os_queue_send(readings, &reading, reading.raw & 1 ? OS_FOREVER : 2) != OS_OK)
            continue;
        if ((reading.raw & 7) == 3)
            os_sleep(1 + self->channel);
        else if ((reading.raw & 15) == 6)
            os_yield();
    }
}

static void forget_oldest(struct store *from)
{
    struct record **place = &from->newest;

    while (*place != NULL && (*place)->older != NULL)
        place = &(*place)->older;
    os_free(*place);
    *place = NULL;
    --from->records;
}

static os_status keep(struct store *to, const struct reading *reading)
{
    struct record *record;

    if (os_mutex_take(to->mutex, 8) != OS_OK)
        return OS_TIMED_OUT;
    while (to->records >= 12)
        forget_oldest(to);
    record = os_allocate(sizeof *record);
    if (record == NULL) {
        ++to->dropped;
    } else {
        *record = (struct record){ to->newest, reading->sensor, reading->sequence, reading->smooth };
        to->newest = record;
        ++to->records;
        if (reading->smooth < to->low[reading->sensor])
            to->low[reading->sensor] = reading->smooth;
        if (reading->smooth > to->high[reading->sensor])
            to->high[reading->sensor] = reading->smooth;
    }
    os_mutex_give(to->mutex);
    return OS_OK;
}

static void collect(void *argument)
{
    struct reading reading;
    uint8_t frame[8];

    (void)argument;
    for (;;) {
        if (os_queue_receive(readings, &reading, 5) != OS_OK)
            continue;
        ++collected;
        if (keep(&store, &reading) != OS_OK)
            continue;
        if (reading.smooth > 900.0f || reading.smooth < -900.0f)
            ++alarms;
        if (reading.sequence % 4 == 0) {
            memcpy(frame, &reading, sizeof frame);
            if (os_queue_send(frames, frame, 1) == OS_OK)
                os_notify(radio_thread, 1);
        }
    }
}

static void radio(void *argument)
{
    unsigned *errors = argument;
    uint8_t frame[8];

    for (;;) {
        uint32_t waiting = os_notified(7);
        for (; waiting != 0 && os_queue_receive(frames, frame, 0) == OS_OK; --waiting) {
            uint32_t check = 0xFFFF;
            for (unsigned i = 0; i < sizeof frame; ++i) {
                check ^= frame[i];
                for (unsigned bit = 0; bit < 8; ++bit)
                    check = check & 1 ? check >> 1 ^ 0xA001 : check >> 1;
                OUTPUT_BYTE = frame[i];
            }
            *errors += check == 0;
            ++sent;
        }
        if (os_mutex_take(store.mutex, 3) == OS_OK) {
            os_sleep(1);
            os_mutex_give(store.mutex);
        }
    }
}

static void beat(os_timer *timer, void *context)
{
    (void)timer;
    ++*(volatile unsigned *)context;
}

static void look_around(os_timer *timer, void *context)
{
    const struct store *seen = context;

    if (os_ticks() >= TICKS || collected >= READINGS) {
        if (sent == 0 || beats == 0 || seen->records == 0)
            failed(2);
        finished();
    }
    os_timer_start(timer, 0);
}

unsigned program(void)
{
    static unsigned errors;

    os_begin(area, sizeof area);
    readings = os_queue_new(4, sizeof(struct reading));
    frames = os_queue_new(6, 8);
    store.mutex = os_mutex_new();
    for (unsigned i = 0; i < SENSORS; ++i) {
        struct sensor *sensor = os_allocate(sizeof *sensor);
        memset(sensor, 0, sizeof *sensor);
        sensor->channel = i;
        sensor->gain = 0.125f * (float)(i + 1);
        sensor->next = sensors;
        sensor->thread = os_thread_new("sensor", measure, sensor, 1 + (i == 2), 192);
        sensors = sensor;
    }
    os_thread_new("collector", collect, NULL, 2, 192);
    radio_thread = os_thread_new("radio", radio, &errors, 3, 160);
    os_timer_start(os_timer_new("beat", 3, true, beat, (void *)&beats), 0);
    os_timer_start(os_timer_new("look", 11, false, look_around, &store), 0);
    os_run();
    return 1;
}
