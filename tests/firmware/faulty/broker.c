/* A message broker: subscribers hang in a list on the heap, messages with topic and payload pass through. */

#include <stdlib.h>
#include <string.h>

#include "board/chip.h"

struct message {
    uint16_t topic, size;
    uint8_t *payload;
};

struct subscriber {
    void (*take)(struct subscriber *subscriber, const struct message *message);
    struct subscriber *next;
    uint32_t topic, taken, sum;
};

static struct subscriber *subscribers;

static void add_up(struct subscriber *subscriber, const struct message *message)
{
    for (unsigned i = 0; i < message->size; ++i)
        subscriber->sum += message->payload[i];
}

static void fold(struct subscriber *subscriber, const struct message *message)
{
    subscriber->sum ^= message->payload[0];
}

static NOINLINE void subscribe(uint32_t topic, void (*take)(struct subscriber *, const struct message *))
{
    struct subscriber *made = calloc(1, sizeof *made);

    made->take = take;
    made->topic = topic;
    made->next = subscribers;
    subscribers = made;
}

/* The payload is kept in whole blocks of 8 bytes. */
static NOINLINE struct message *make(unsigned topic, const uint8_t *data, unsigned size)
{
    struct message *message = malloc(sizeof *message);

    message->topic = (uint16_t)topic;
    message->size = (uint16_t)size;
    message->payload = malloc((uint8_t)((size + 7) & ~7u));
    memcpy(message->payload, data, size);       /* CULPRIT */
    return message;
}

static NOINLINE void publish(const struct message *message)
{
    for (struct subscriber *at = subscribers; at != NULL; at = at->next)
        if (at->topic == message->topic) {      /* FAULTS */
            at->take(at, message);      /* FAULTS */
            ++at->taken;
        }
}

static NOINLINE void drop(struct message *message)
{
    free(message->payload);
    free(message);
}

int main(void)
{
    static uint8_t data[300];
    struct message *first;

    for (unsigned i = 0; i < sizeof data; ++i)
        data[i] = (uint8_t)(i * 5 + 3);
    first = make(9, data, 40);
    subscribe(1, fold);
    subscribe(2, add_up);
    subscribe(3, add_up);
    drop(first);
    for (unsigned i = 1; i < 90; ++i) {
        unsigned size = i % 30 == 29 ? 270 : 1 + i * 13 % 40;
        struct message *message = make(1 + i % 3, data, size);
        publish(message);
        drop(message);
    }
    return 0;
}
