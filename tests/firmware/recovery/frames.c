/* Bytes from outside: ring buffer, escaped frames, CRC, messages from a pool, a linked queue, a table of handlers. */

#include "inputs.h"

#define FLAG            0x7E
#define ESCAPE          0x7D
#define PAYLOAD         24
#define RING            64
#define POOL            12
#ifdef __OPTIMIZE__
#define FRAMES          90
#else
#define FRAMES          40
#endif

struct message {
    struct message *next;
    uint8_t type, length;
    uint16_t sequence;
    uint8_t payload[PAYLOAD];
};

struct ring {
    uint8_t bytes[RING];
    uint16_t head, tail;
};

static struct ring received, replies;
static struct message pool[POOL], *free_list, *queue_head, **queue_tail = &queue_head;
static uint16_t crc_table[256];
static int32_t settings[16];
static unsigned counts[8], dropped, bad, frames;
static uint16_t sequence;

static bool ring_put(struct ring *ring, uint8_t byte)
{
    uint16_t next = (ring->head + 1) % RING;

    if (next == ring->tail)
        return false;
    ring->bytes[ring->head] = byte;
    ring->head = next;
    return true;
}

static int ring_get(struct ring *ring)
{
    if (ring->head == ring->tail)
        return -1;
    uint8_t byte = ring->bytes[ring->tail];
    ring->tail = (ring->tail + 1) % RING;
    return byte;
}

static uint16_t crc_step(uint16_t crc, uint8_t byte)
{
    return (uint16_t)(crc >> 8) ^ crc_table[(crc ^ byte) & 0xFF];
}

static void make_crc_table(void)
{
    for (unsigned i = 0; i < 256; ++i) {
        uint16_t crc = i;
        for (int bit = 0; bit < 8; ++bit)
            crc = crc & 1 ? (crc >> 1) ^ 0xA001 : crc >> 1;
        crc_table[i] = crc;
    }
}

static struct message *allocate(void)
{
    struct message *found = free_list;

    if (found != 0)
        free_list = found->next;
    return found;
}

static void release(struct message *message)
{
    message->next = free_list;
    free_list = message;
}

static void enqueue(struct message *message)
{
    message->next = 0;
    *queue_tail = message;
    queue_tail = &message->next;
}

static struct message *dequeue(void)
{
    struct message *first = queue_head;

    if (first != 0) {
        queue_head = first->next;
        if (queue_head == 0)
            queue_tail = &queue_head;
    }
    return first;
}

static __attribute__((noinline)) void accept(const uint8_t *frame, unsigned length)
{
    uint16_t crc = 0xFFFF;

    for (unsigned i = 0; i < length; ++i)
        crc = crc_step(crc, frame[i]);
    if (length < 4 || crc != 0) {
        ++bad;
        return;
    }
    struct message *message = allocate();
    if (message == 0) {
        ++dropped;
        return;
    }
    message->type = frame[0];
    message->length = length - 3;
    message->sequence = ++sequence;
    for (unsigned i = 0; i < message->length; ++i)
        message->payload[i] = frame[1 + i];
    enqueue(message);
    ++frames;
}

static __attribute__((noinline)) void take_byte(uint8_t byte)
{
    static uint8_t frame[PAYLOAD + 4];
    static unsigned length;
    static bool escaped;

    if (byte == FLAG) {
        if (length > 0)
            accept(frame, length);
        length = 0;
        escaped = false;
    } else if (byte == ESCAPE) {
        escaped = true;
    } else {
        if (escaped)
            byte ^= 0x20;
        escaped = false;
        if (length < sizeof frame)
            frame[length++] = byte;
    }
}

static void reply(const struct message *message, uint32_t value)
{
    ring_put(&replies, message->type);
    ring_put(&replies, message->sequence);
    for (int shift = 24; shift >= 0; shift -= 8)
        ring_put(&replies, value >> shift);
}

static void on_sum(const struct message *message)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < message->length; ++i)
        sum += message->payload[i];
    reply(message, sum);
}

static void on_set(const struct message *message)
{
    int32_t value = 0;

    for (unsigned i = 1; i < message->length && i < 5; ++i)
        value = value * 256 + message->payload[i];
    settings[message->payload[0] & 15] = value;
    reply(message, value & 1);
}

static void on_get(const struct message *message)
{
    reply(message, settings[message->payload[0] & 15]);
}

static void on_echo(const struct message *message)
{
    for (unsigned i = 0; i < message->length; ++i)
        if (!ring_put(&replies, message->payload[i]))
            break;
}

static void on_largest(const struct message *message)
{
    uint8_t largest = 0;

    for (unsigned i = 0; i < message->length; ++i)
        if (message->payload[i] > largest)
            largest = message->payload[i];
    reply(message, largest);
}

static void on_other(const struct message *message)
{
    (void)message;
    ++dropped;
}

static void (*const handlers[8])(const struct message *) = {
    on_sum, on_set, on_get, on_echo, on_largest, on_sum, on_other, on_other,
};

static __attribute__((noinline)) void dispatch(void)
{
    struct message *message;

    while ((message = dequeue()) != 0) {
        ++counts[message->type & 7];
        handlers[message->type & 7](message);
        release(message);
    }
}

static __attribute__((noinline)) void poll_input(void)
{
    for (unsigned i = 0; i < 16 && INPUT_STATUS & 1; ++i)
        ring_put(&received, INPUT_BYTE);
}

unsigned run(void)
{
    make_crc_table();
    for (unsigned i = 0; i < COUNT(pool); ++i)
        release(&pool[i]);
    while (frames < FRAMES) {
        int byte;
        poll_input();
        while ((byte = ring_get(&received)) >= 0)
            take_byte(byte);
        if ((frames & 3) == 3 || free_list == 0)
            dispatch();
        while ((byte = ring_get(&replies)) >= 0)
            OUTPUT_BYTE = byte;
    }
    dispatch();
    unsigned total = 0;
    for (unsigned i = 0; i < COUNT(counts); ++i)
        total += counts[i];
    return total == FRAMES && bad > 0 ? 0 : 1;
}
