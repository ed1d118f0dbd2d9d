/* A queue of events, filled by a handler and by the main loop, emptied by the main loop. */

#include "board/lib.h"

#define ROOM            16

struct event {
    void (*run)(uint32_t value);
    uint32_t value;
};

static struct {
    struct event events[ROOM];
    volatile unsigned head, tail;
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
    unsigned head = queue.head;

    if (head - queue.tail == ROOM)
        return false;
    queue.events[head % ROOM].run = run;        /* CULPRIT */
    queue.events[head % ROOM].value = value;
    queue.head = head + 1;              /* CULPRIT */
    return true;
}

static NOINLINE bool take(struct event *event)
{
    unsigned tail = queue.tail;

    if (tail == queue.head)
        return false;
    *event = queue.events[tail % ROOM];
    queue.events[tail % ROOM].run = NULL;
    queue.tail = tail + 1;
    return true;
}

void SysTick_Handler(void)
{
    static uint32_t count;

    put(on_tick, ++count);
    put(on_key, count & 3);             /* CULPRIT */
}

int main(void)
{
    struct event event;

    systick_start(173);
    for (uint32_t i = 0; i < 4000; ++i) {
        put(on_step, i);                /* CULPRIT */
        while (take(&event))
            event.run(event.value);     /* FAULTS */
    }
    return 0;
}
