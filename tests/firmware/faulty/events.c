/* A queue of events, filled by a handler and by the main loop, emptied by the main loop. */

#include "board/lib.h"

#define ROOM            16

struct event {
    void (*run)(uint32_t value);
    uint32_t value;
};

static struct {
    struct event events[ROOM];
    volatile unsigned head, tail, count;
} queue;

static uint32_t ticked, typed, steps, total;

static void on_tick(uint32_t value)
{
    ticked += value;
}

static void on_step(uint32_t value)
{
    for (uint32_t i = 0; i < 6 + value % 5; ++i)
        total = total * 5 + i;
    ++steps;
}

static void on_key(uint32_t value)
{
    typed ^= value;
}

static NOINLINE bool put(void (*run)(uint32_t), uint32_t value)
{
    struct event *event = &queue.events[queue.tail];

    if (queue.count == ROOM)
        return false;
    event->run = run;
    event->value = value;               /* CULPRIT */
    queue.tail = (unsigned)(event - queue.events + 1) % ROOM;   /* CULPRIT */
    ++queue.count;                      /* CULPRIT */
    return true;
}

static NOINLINE bool take(struct event *event)
{
    unsigned head = queue.head;

    if (queue.count == 0)
        return false;
    *event = queue.events[head];
    queue.events[head].run = NULL;
    queue.head = (head + 1) % ROOM;
    irq_disable();
    --queue.count;
    irq_enable();
    return true;
}

void SysTick_Handler(void)
{
    static uint32_t count;

    put(on_tick, ++count);
    put(on_key, count & 3);
}

int main(void)
{
    struct event event;

    systick_start(311);
    for (uint32_t i = 0; i < 4000; ++i) {
        put(on_step, i);
        while (take(&event))
            event.run(event.value);     /* FAULTS */
    }
    return 0;
}
