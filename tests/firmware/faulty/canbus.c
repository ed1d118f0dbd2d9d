/* A bridge between two CAN buses: frames are filtered and kept for the other side. */

#include "board/lib.h"

struct frame {
    uint16_t id;
    uint8_t dlc, flags;
    uint8_t data[8];
};

struct port {
    struct frame last;
    uint8_t shadow[8];
    void (*send)(const struct frame *frame);
    uint32_t count;
};

static const uint8_t dlc_of_fd[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 48, 64 };
static struct port body, engine;
static uint8_t received[64];
static uint32_t sent_body, sent_engine, errors;

static void send_body(const struct frame *frame)
{
    sent_body += frame->data[0];
}

static void send_engine(const struct frame *frame)
{
    sent_engine ^= frame->id;
}

static NOINLINE unsigned receive(unsigned number, struct frame *frame)
{
    frame->id = (uint16_t)(0x100 + number * 17 % 64);
    frame->dlc = (uint8_t)(number % 9);
    frame->flags = 0;
    if (number % 40 == 39) {
        frame->dlc = 10;
        frame->flags = 1;
    }
    for (unsigned i = 0; i < sizeof received; ++i)
        received[i] = (uint8_t)(number * 3 + i | 1);
    return dlc_of_fd[frame->dlc];
}

static NOINLINE void pass(struct port *from, struct port *to, unsigned number)
{
    struct frame frame;
    unsigned length = receive(number, &frame);

    for (unsigned i = 0; i < 8; ++i)
        frame.data[i] = received[i];
    from->last = frame;
    memcpy(from->shadow, received, length);     /* CULPRIT */
    ++from->count;
    if (number % 3 != 1)
        to->send(&frame);               /* FAULTS */
}

static NOINLINE void check(const struct port *port)
{
    if (port->last.id < 0x100 || port->last.id > 0x140)
        ++errors;
}

int main(void)
{
    body.send = send_body;
    engine.send = send_engine;
    for (unsigned number = 0; number < 400; ++number) {
        if (number / 4 % 2)
            pass(&body, &engine, number);
        else
            pass(&engine, &body, number);
        check(&body);
        check(&engine);
    }
    return 0;
}
