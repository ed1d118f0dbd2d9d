/* Two gates: switches debounced in SysTick, a timer wheel, events from a heap, and a hierarchical state machine. */

#include "inputs.h"

#define GATES           2
#define SLOTS           16
#define HEAP_WORDS      384
#define CHANGES         16
#define HISTORY         12
#ifdef __OPTIMIZE__
#define TICKS           520
#define PERIOD          150
#else
#define TICKS           340
#define PERIOD          400
#endif

enum signal { ENTRY, EXIT, BUTTON, CLOSED_END, OPEN_END, BEAM, RELEASED, TIMEOUT, SIGNALS };
enum outcome { HANDLED, PASSED, MOVED };

struct link {
    struct link *next, *previous;
};

struct timer {
    struct link link;       /* first: a link is its timer */
    uint16_t rounds, slot;
    struct gate *gate;
    bool running;
};

struct event {
    struct event *next;
    struct gate *gate;
    uint8_t signal, switches;
    uint16_t at;
};

struct note {
    struct note *next;
    uint16_t at, length;
    uint8_t path[];
};

struct state {
    const struct state *parent;
    enum outcome (*handle)(struct gate *gate, const struct event *event);
    uint8_t depth, number;
};

struct gate {
    const struct state *state, *target;
    struct timer timer;
    int16_t position, speed;
    uint8_t number, faults;
    unsigned entries[9], exits[9], handled, ignored;
};

/* In front of each block: its size in bytes with the header; bit 0 when it is taken. */
struct block {
    uint32_t size;
    struct block *next;
};

static uint64_t heap[HEAP_WORDS / 2];
static struct block *free_blocks;
static unsigned taken, most_taken, refused;

static struct link wheel[SLOTS];
static uint16_t hand;

static struct { uint8_t switches, changed; uint16_t at; } changes[CHANGES];
static volatile uint8_t changes_in, changes_out, missed;
static volatile uint16_t ticks;
static uint8_t stable, count_low, count_high;

static struct event *first_event, **last_event = &first_event;
static struct note *notes;
static unsigned note_count, alarms, opened;
static struct gate gates[GATES];

static void heap_begin(void)
{
    free_blocks = (struct block *)heap;
    free_blocks->size = sizeof heap;
    free_blocks->next = 0;
}

static __attribute__((noinline)) void *allocate(unsigned size)
{
    struct block **place = &free_blocks;

    size = (size + sizeof(uint32_t) + 7) & ~7u;
    if (size < sizeof(struct block))
        size = sizeof(struct block);
    while (*place && (*place)->size < size)
        place = &(*place)->next;
    struct block *block = *place;
    if (block == 0) {
        ++refused;
        return 0;
    }
    if (block->size - size >= 2 * sizeof(struct block)) {
        struct block *rest = (struct block *)((uint8_t *)block + size);
        rest->size = block->size - size;
        rest->next = block->next;
        *place = rest;
        block->size = size;
    } else {
        *place = block->next;
    }
    taken += block->size;
    if (taken > most_taken)
        most_taken = taken;
    block->size |= 1;
    return (uint32_t *)block + 1;
}

/* The list is in the order of addresses, so that neighbours are joined. */
static __attribute__((noinline)) void release(void *pointer)
{
    struct block *block = (struct block *)((uint32_t *)pointer - 1), *before = 0, *after = free_blocks;

    if (!(block->size & 1))
        failed(90);
    block->size &= ~1u;
    taken -= block->size;
    while (after && after < block) {
        before = after;
        after = after->next;
    }
    block->next = after;
    if (after && (uint8_t *)block + block->size == (uint8_t *)after) {
        block->size += after->size;
        block->next = after->next;
    }
    if (before == 0) {
        free_blocks = block;
    } else if ((uint8_t *)before + before->size == (uint8_t *)block) {
        before->size += block->size;
        before->next = block->next;
    } else {
        before->next = block;
    }
}

static void wheel_begin(void)
{
    for (unsigned i = 0; i < SLOTS; ++i)
        wheel[i].next = wheel[i].previous = &wheel[i];
}

static void stop(struct timer *timer)
{
    if (!timer->running)
        return;
    timer->link.previous->next = timer->link.next;
    timer->link.next->previous = timer->link.previous;
    timer->running = false;
}

static void start(struct timer *timer, uint16_t delay)
{
    stop(timer);
    timer->slot = (hand + delay) % SLOTS;
    timer->rounds = (delay - 1) / SLOTS;
    struct link *head = &wheel[timer->slot];
    timer->link.next = head;
    timer->link.previous = head->previous;
    head->previous->next = &timer->link;
    head->previous = &timer->link;
    timer->running = true;
}

static void post(struct gate *gate, enum signal signal, uint8_t switches)
{
    struct event *event = allocate(sizeof *event);

    if (event == 0)
        return;
    event->next = 0;
    event->gate = gate;
    event->signal = signal;
    event->switches = switches;
    event->at = ticks;
    *last_event = event;
    last_event = &event->next;
}

static __attribute__((noinline)) void turn_wheel(void)
{
    hand = (hand + 1) % SLOTS;
    struct link *head = &wheel[hand], *at = head->next;
    while (at != head) {
        struct timer *timer = (struct timer *)at;
        at = at->next;
        if (timer->rounds > 0) {
            --timer->rounds;
            continue;
        }
        stop(timer);
        post(timer->gate, TIMEOUT, 0);
    }
}

/* Vertical counters: a contact has changed when it was seen so four times. */
void SysTick_Handler(void)
{
    uint8_t read = SWITCHES, different = read ^ stable, changed;

    count_low = ~(count_low & different);
    count_high = count_low ^ (count_high & different);
    changed = different & count_low & count_high;
    stable ^= changed;
    ++ticks;
    if (changed == 0)
        return;
    uint8_t next = (changes_in + 1) % CHANGES;
    if (next == changes_out) {
        ++missed;
        return;
    }
    changes[changes_in].switches = stable;
    changes[changes_in].changed = changed;
    changes[changes_in].at = ticks;
    changes_in = next;
}

static enum outcome on_top(struct gate *gate, const struct event *event);
static enum outcome on_service(struct gate *gate, const struct event *event);
static enum outcome on_closed(struct gate *gate, const struct event *event);
static enum outcome on_moving(struct gate *gate, const struct event *event);
static enum outcome on_opening(struct gate *gate, const struct event *event);
static enum outcome on_closing(struct gate *gate, const struct event *event);
static enum outcome on_open(struct gate *gate, const struct event *event);
static enum outcome on_fault(struct gate *gate, const struct event *event);

static const struct state top = { 0, on_top, 0, 0 };
static const struct state service = { &top, on_service, 1, 1 };
static const struct state closed = { &service, on_closed, 2, 2 };
static const struct state moving = { &service, on_moving, 2, 3 };
static const struct state opening = { &moving, on_opening, 3, 4 };
static const struct state closing = { &moving, on_closing, 3, 5 };
static const struct state open = { &service, on_open, 2, 6 };
static const struct state fault = { &top, on_fault, 1, 7 };

static enum outcome go(struct gate *gate, const struct state *target)
{
    gate->target = target;
    return MOVED;
}

static enum outcome on_top(struct gate *gate, const struct event *event)
{
    (void)gate;
    return event->signal <= EXIT ? HANDLED : PASSED;
}

static enum outcome on_service(struct gate *gate, const struct event *event)
{
    if (event->signal <= EXIT)
        return HANDLED;
    if (event->signal == BEAM && gate->faults > 6) {
        gate->faults = 0;
        return go(gate, &fault);
    }
    return PASSED;
}

static enum outcome on_closed(struct gate *gate, const struct event *event)
{
    switch (event->signal) {
    case ENTRY:
        gate->position = 0;
        return HANDLED;
    case EXIT:
        return HANDLED;
    case BUTTON:
        return go(gate, &opening);
    }
    return PASSED;
}

static enum outcome on_moving(struct gate *gate, const struct event *event)
{
    switch (event->signal) {
    case ENTRY:
        OUTPUT(gate->number) = 1;
        return HANDLED;
    case EXIT:
        OUTPUT(gate->number) = 0;
        gate->speed = 0;
        stop(&gate->timer);
        return HANDLED;
    case TIMEOUT:
        gate->position += gate->speed;
        start(&gate->timer, 3);
        if (gate->position > 400)
            return go(gate, &open);
        if (gate->position < -40)
            return go(gate, &fault);
        return HANDLED;
    }
    return PASSED;
}

static enum outcome on_opening(struct gate *gate, const struct event *event)
{
    switch (event->signal) {
    case ENTRY:
        gate->speed = 40 + gate->number * 9;
        start(&gate->timer, 2);
        return HANDLED;
    case EXIT:
        return HANDLED;
    case OPEN_END:
        return go(gate, &open);
    case BUTTON:
        return go(gate, &closing);
    }
    return PASSED;
}

static enum outcome on_closing(struct gate *gate, const struct event *event)
{
    switch (event->signal) {
    case ENTRY:
        gate->speed = -30;
        start(&gate->timer, 2);
        return HANDLED;
    case EXIT:
        return HANDLED;
    case CLOSED_END:
        return go(gate, &closed);
    case BEAM:
        ++gate->faults;
        return go(gate, &opening);
    }
    return PASSED;
}

static enum outcome on_open(struct gate *gate, const struct event *event)
{
    switch (event->signal) {
    case ENTRY:
        ++opened;
        gate->position = 400;
        start(&gate->timer, 19);
        return HANDLED;
    case EXIT:
        stop(&gate->timer);
        return HANDLED;
    case BEAM:
        start(&gate->timer, 35);
        return HANDLED;
    case BUTTON:
    case TIMEOUT:
        return go(gate, &closing);
    }
    return PASSED;
}

static enum outcome on_fault(struct gate *gate, const struct event *event)
{
    switch (event->signal) {
    case ENTRY:
        ++alarms;
        start(&gate->timer, 24);
        return HANDLED;
    case EXIT:
        stop(&gate->timer);
        return HANDLED;
    case TIMEOUT:
        return go(gate, gate->position > 200 ? &closing : &closed);
    }
    return HANDLED;
}

static void forget(void)
{
    struct note **place = &notes;

    while ((*place)->next)
        place = &(*place)->next;
    release(*place);
    *place = 0;
    --note_count;
}

/* Which states a change went through. */
static void remember(const uint8_t *path, unsigned length)
{
    if (note_count == HISTORY)
        forget();
    struct note *note = allocate(sizeof *note + length);
    if (note == 0)
        return;
    note->at = ticks;
    note->length = length;
    for (unsigned i = 0; i < length; ++i)
        note->path[i] = path[i];
    note->next = notes;
    notes = note;
    ++note_count;
}

/* Leaves states up to what both have in common, and enters from there. */
static __attribute__((noinline)) void change(struct gate *gate, const struct state *target)
{
    static const struct event entry = { .signal = ENTRY }, leave = { .signal = EXIT };
    const struct state *from = gate->state, *to = target, *way[4];
    uint8_t path[8];
    unsigned length = 0, steps = 0;

    while (from != to) {
        if (from && (to == 0 || from->depth >= to->depth)) {
            from->handle(gate, &leave);
            ++gate->exits[from->number];
            path[length++] = from->number;
            from = from->parent;
        } else {
            way[steps++] = to;
            to = to->parent;
        }
    }
    gate->state = target;
    while (steps > 0) {
        const struct state *state = way[--steps];
        ++gate->entries[state->number];
        path[length++] = state->number | 0x80;
        state->handle(gate, &entry);
    }
    remember(path, length);
}

static __attribute__((noinline)) void dispatch(struct event *event)
{
    struct gate *gate = event->gate;
    const struct state *state = gate->state;
    enum outcome outcome = PASSED;

    while (state && (outcome = state->handle(gate, event)) == PASSED)
        state = state->parent;
    if (outcome == MOVED)
        change(gate, gate->target);
    if (outcome == PASSED)
        ++gate->ignored;
    else
        ++gate->handled;
}

static void run_events(void)
{
    while (first_event) {
        struct event *event = first_event;
        first_event = event->next;
        if (first_event == 0)
            last_event = &first_event;
        dispatch(event);
        release(event);
    }
}

/* Of each gate four switches. */
static void take_changes(void)
{
    while (changes_out != changes_in) {
        uint8_t switches = changes[changes_out].switches, changed = changes[changes_out].changed;
        changes_out = (changes_out + 1) % CHANGES;
        for (unsigned i = 0; i < 8; ++i) {
            if (!(changed & 1u << i))
                continue;
            bool pressed = switches & 1u << i;
            post(&gates[i / 4], pressed ? (enum signal)(BUTTON + i % 4) : RELEASED, switches);
        }
    }
}

static unsigned check(void)
{
    for (unsigned i = 0; i < GATES; ++i) {
        unsigned inside = 0;
        for (unsigned state = 0; state < 8; ++state)
            inside += gates[i].entries[state] - gates[i].exits[state];
        if (inside != 0 || gates[i].handled < 5)
            return 1;
    }
    if (taken != 0 || free_blocks != (struct block *)heap || free_blocks->size != sizeof heap || free_blocks->next)
        return 2;
    for (unsigned i = 0; i < SLOTS; ++i)
        if (wheel[i].next != &wheel[i])
            return 3;
    return opened > 0 && most_taken > 100 && missed == 0 && refused == 0 ? 0 : 4;
}

unsigned run(void)
{
    uint16_t done = 0;

    heap_begin();
    wheel_begin();
    for (unsigned i = 0; i < GATES; ++i) {
        gates[i].number = i;
        gates[i].timer.gate = &gates[i];
        change(&gates[i], &closed);
    }
    SYST_RVR = PERIOD;
    SYST_CVR = 0;
    SYST_CSR = 7;
    while (done < TICKS) {
        if (done != ticks) {
            ++done;
            turn_wheel();
        }
        take_changes();
        run_events();
    }
    SYST_CSR = 0;
    take_changes();
    run_events();
    for (unsigned i = 0; i < GATES; ++i)
        change(&gates[i], 0);
    while (notes)
        forget();
    return check();
}
