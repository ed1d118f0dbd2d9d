/* A gateway on the kernel of svc/: threads without privilege decode frames, route them, and share a counter. */

#include "svc/svc.h"

#define WORKERS         3
#define TICKS           100
#define STACK_WORDS     192
#define ROUTES          16

struct packet {
    uint8_t from, to, length, flags;
    uint32_t sequence;
    uint8_t body[12];
};

struct route {
    uint8_t to, next_hop, cost, age;
    struct route *next;
};

struct worker {
    unsigned channel;
    uint32_t state, sent, late;
    float load;
    svc_thread *thread;
    void (*account)(struct worker *worker, const struct packet *packet);
};

static uint32_t stacks[WORKERS + 3][STACK_WORDS] __attribute__((aligned(8)));
static uint32_t letters[64];
static struct worker workers[WORKERS];
static struct route routes[ROUTES], *buckets[4];
static svc_mailbox *inbox;
static svc_lock *table_lock;
static svc_flags *events;
static volatile unsigned routed, unknown, edges;
static uint32_t digest = 2166136261u;

static __attribute__((noipa)) uint32_t fold(uint32_t hash, const uint8_t *bytes, unsigned count)
{
    while (count--)
        hash = (hash ^ *bytes++) * 16777619;
    return hash;
}

static void by_length(struct worker *worker, const struct packet *packet)
{
    worker->load = worker->load * 0.9f + (float)packet->length * 0.1f;
}

static void by_cost(struct worker *worker, const struct packet *packet)
{
    worker->load += (float)(packet->flags & 3) - worker->load * 0.125f;
}

static void work(void *argument)
{
    struct worker *self = argument;
    struct packet packet;

    for (;;) {
        uint32_t sample = SAMPLE(self->channel) & 0xFFF;
        packet.from = (uint8_t)self->channel;
        packet.to = sample & 31;
        packet.length = (uint8_t)(4 + (sample >> 5 & 7));
        packet.flags = (uint8_t)(sample >> 8);
        packet.sequence = self->sent;
        for (unsigned i = 0; i < packet.length; ++i) {
            self->state = self->state * 1664525 + sample;
            packet.body[i] = (uint8_t)(self->state >> 24);
        }
        self->account(self, &packet);
        if (svc_send(inbox, &packet, sample & 1 ? SVC_FOREVER : 2) == SVC_OK)
            ++self->sent;
        else
            ++self->late;
        if ((sample & 7) == 5)
            svc_delay(1 + (sample >> 6 & 1));
        if ((self->sent & 7) == 0) {
            uint32_t met = svc_flags_wait(events, 1u << self->channel, 3);
            if ((int32_t)met > 0)
                self->state ^= met;
        }
        if ((sample & 63) == 9)
            svc_yield();
    }
}

static struct route *find(uint8_t to)
{
    for (struct route *route = buckets[to % COUNT(buckets)]; route != NULL; route = route->next)
        if (route->to == to)
            return route;
    return NULL;
}

static void dispatch(void *argument)
{
    struct packet packet;

    (void)argument;
    for (;;) {
        if (svc_receive(inbox, &packet, 4) != SVC_OK)
            continue;
        if (svc_lock_take(table_lock, 2) != SVC_OK)
            continue;
        struct route *route = find(packet.to);
        if (route == NULL) {
            ++unknown;
        } else {
            ++routed;
            route->age = 0;
            packet.to = route->next_hop;
            OUTPUT(route->next_hop & 3) = packet.sequence;
        }
        digest = fold(digest, packet.body, packet.length);
        svc_lock_give(table_lock);
        if (routed % 3 == 0)
            svc_flags_set(events, 1u << packet.from);
    }
}

/* Privileged: it looks at the routes, and ends the run. */
static void age(void *argument)
{
    const uint32_t *end = argument;

    for (;;) {
        svc_delay(3);
        if (svc_lock_take(table_lock, SVC_FOREVER) == SVC_OK) {
            for (unsigned i = 0; i < ROUTES; ++i)
                if (++routes[i].age > 200)
                    routes[i].cost = 255;
            if (routed & 4)
                svc_delay(1);
            svc_lock_give(table_lock);
        }
        if (svc_ticks() >= *end) {
            if (routed == 0 || unknown == 0 || edges == 0)
                failed(2);
            svc_stop();
        }
    }
}

static void idle(void *argument)
{
    volatile uint32_t *turns = argument;

    for (;;)
        if ((++*turns & 31) == 0 && (SWITCHES & 1))
            svc_flags_set(events, 1u << (*turns >> 5) % WORKERS);
}

/* An input that interrupts; here the program itself makes it pending. */
void IRQ0_Handler(void)
{
    ++edges;
    svc_flags_set_later(events, 1u << edges % WORKERS);
}

static void pulse(void *argument)
{
    (void)argument;
    for (;;) {
        svc_delay(2);
        NVIC_ISPR0 = 1;
        barrier();
    }
}

static void routes_begin(void)
{
    for (unsigned i = 0; i < ROUTES; ++i) {
        struct route *route = &routes[i];
        *route = (struct route){ (uint8_t)(i * 3 & 31), (uint8_t)(i ^ 5), (uint8_t)i, 0, NULL };
        route->next = buckets[route->to % COUNT(buckets)];
        buckets[route->to % COUNT(buckets)] = route;
    }
}

unsigned program(void)
{
    static const uint32_t end = TICKS;
    static volatile uint32_t turns;
    struct svc_thread_options options = { "worker", 2, false, stacks[0], STACK_WORDS };

    routes_begin();
    inbox = svc_mailbox_new(4, sizeof(struct packet), letters, sizeof letters);
    table_lock = svc_lock_new();
    events = svc_flags_new();
    for (unsigned i = 0; i < WORKERS; ++i) {
        options.stack = stacks[i];
        workers[i] = (struct worker){ .channel = i, .state = 17 * i + 1, .account = i & 1 ? by_cost : by_length };
        workers[i].thread = svc_thread_new(work, &workers[i], &options);
    }
    options = (struct svc_thread_options){ "dispatcher", 3, false, stacks[WORKERS], STACK_WORDS };
    svc_thread_new(dispatch, NULL, &options);
    options = (struct svc_thread_options){ "ageing", 4, true, stacks[WORKERS + 1], STACK_WORDS / 2 };
    svc_thread_new(age, (void *)&end, &options);
    options = (struct svc_thread_options){ "pulse", 5, true, stacks[WORKERS + 1] + STACK_WORDS / 2, STACK_WORDS / 2 };
    svc_thread_new(pulse, NULL, &options);
    options = (struct svc_thread_options){ "idle", 0, false, stacks[WORKERS + 2], STACK_WORDS };
    svc_thread_new(idle, (void *)&turns, &options);
    NVIC_IPR0 = 0xC0C0C0C0;
    NVIC_ISER0 = 1;
    svc_run();
    return 1;
}
