/* Reminders: timers on the heap call back once or again and again; messages come and go on the same heap. */

#include <stdlib.h>
#include <string.h>

#include "board/chip.h"

struct reminder {
    uint32_t due, every;
    void (*call)(struct reminder *reminder);
    uint32_t count;
    struct reminder *next;
};

struct message {
    uint32_t from;
    char text[16];
};

static struct reminder *pending;
static struct message *outbox[6];
static uint32_t now, sent, blinked;

static NOINLINE struct reminder *remind(uint32_t after, uint32_t every, void (*call)(struct reminder *))
{
    struct reminder *made = malloc(sizeof *made);

    made->due = now + after;
    made->every = every;
    made->call = call;
    made->count = 0;
    made->next = pending;
    pending = made;
    return made;
}

static NOINLINE void forget(struct reminder *reminder)
{
    for (struct reminder **link = &pending; *link != NULL; link = &(*link)->next)
        if (*link == reminder) {
            *link = reminder->next;
            break;
        }
    free(reminder);
}

static NOINLINE void write_message(uint32_t from, const char *text)
{
    unsigned at = sent++ % COUNT(outbox);

    free(outbox[at]);
    outbox[at] = malloc(sizeof *outbox[at]);
    outbox[at]->from = from;
    strncpy(outbox[at]->text, text, sizeof outbox[at]->text);
}

static void blink(struct reminder *reminder)
{
    ++blinked;
    if (reminder->count % 8 == 7)
        write_message(1, "eight blinks");
}

static void report(struct reminder *reminder)
{
    write_message(reminder->count, "all is well, ok");
}

static struct reminder *alarm;

static void raise_alarm(struct reminder *reminder)
{
    write_message(reminder->count, "temperature is");
    if (reminder->count == 3) {
        free(alarm);                    /* CULPRIT */
        alarm = NULL;
    }
}

static NOINLINE void run_due(void)
{
    for (struct reminder *at = pending, *next; at != NULL; at = next) {
        next = at->next;
        if (at->due > now)
            continue;
        ++at->count;
        at->call(at);
        if (at->every != 0)
            at->due += at->every;       /* CULPRIT */
        else
            forget(at);
    }
}

int main(void)
{
    remind(3, 3, blink);
    remind(50, 10, report);
    alarm = remind(20, 20, raise_alarm);
    remind(45, 0, report);
    for (now = 0; now < 300; ++now)
        run_due();
    return 0;
}
