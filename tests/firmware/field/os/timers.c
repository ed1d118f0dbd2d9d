/* Timers: a thread of its own takes commands from a queue, and calls back. */

#include "internal.h"

struct os_timer {
    struct link link;
    uint32_t period, due;
    bool again;
    os_callback callback;
    void *context;
    const char *name;
};

struct command {
    enum { START, STOP } what;
    os_timer *timer;
    uint32_t at;
};

static os_queue *commands;
static struct link running;

os_timer *os_timer_new(const char *name, uint32_t period, bool again, os_callback callback, void *context)
{
    os_timer *timer = os_allocate(sizeof *timer);

    if (timer == NULL)
        return NULL;
    link_begin(&timer->link);
    timer->name = name;
    timer->period = period;
    timer->again = again;
    timer->callback = callback;
    timer->context = context;
    return timer;
}

os_status os_timer_start(os_timer *timer, uint32_t ticks)
{
    struct command command = { START, timer, os_ticks() };

    return os_queue_send(commands, &command, ticks);
}

static void insert(os_timer *timer, uint32_t due)
{
    struct link *place = running.next;

    timer->due = due;
    while (place != &running && (int32_t)(CONTAINER(place, os_timer, link)->due - due) <= 0)
        place = place->next;
    link_before(&timer->link, place);
}

static void obey(const struct command *command)
{
    link_remove(&command->timer->link);
    if (command->what == START)
        insert(command->timer, command->at + command->timer->period);
}

static void expire(uint32_t now)
{
    while (!link_is_alone(&running)) {
        os_timer *timer = CONTAINER(running.next, os_timer, link);
        if ((int32_t)(timer->due - now) > 0)
            break;
        link_remove(&timer->link);
        if (timer->again)
            insert(timer, timer->due + timer->period);
        timer->callback(timer, timer->context);
    }
}

static void serve(void *argument)
{
    struct command command;

    (void)argument;
    for (;;) {
        uint32_t now = os_ticks(), left = OS_FOREVER;
        expire(now);
        if (!link_is_alone(&running)) {
            left = CONTAINER(running.next, os_timer, link)->due - now;
            left = (int32_t)left > 0 ? left : 0;
        }
        while (os_queue_receive(commands, &command, left) == OS_OK) {
            obey(&command);
            left = 0;
        }
    }
}

void os_timers_begin(void)
{
    link_begin(&running);
    commands = os_queue_new(5, sizeof(struct command));
    os_thread_new("timers", serve, NULL, OS_PRIORITIES - 1, 160);
}
