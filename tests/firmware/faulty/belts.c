/* Conveyor belts: parcels in fixed queues between stations, with the checks of a real-time kernel. */

#include "board/lib.h"

#define configASSERT(x)     if (!(x)) { irq_disable(); vAssertCalled(__FILE__, __LINE__); }

__attribute__((noinline)) void vAssertCalled(const char *file, unsigned long line);

struct queue {
    uint8_t *storage;
    uint8_t item, length, waiting, read, write;
};

static uint8_t belt_storage[6 * 4], sorter_storage[4 * 4];
static struct queue belt, sorter;
static uint32_t weight, delivered, returned;

void vAssertCalled(const char *file, unsigned long line)
{
    volatile unsigned long stay = line;

    (void)file;
    while (stay)
        __asm volatile("bkpt");
}

static NOINLINE void make(struct queue *queue, uint8_t *storage, unsigned item, unsigned length)
{
    *queue = (struct queue){ storage, (uint8_t)item, (uint8_t)length, 0, 0, 0 };
}

static NOINLINE bool send(struct queue *queue, const void *item)
{
    configASSERT(queue->waiting <= queue->length);      /* FAULTS */
    if (queue->waiting == queue->length)
        return false;
    memcpy(queue->storage + queue->write * queue->item, item, queue->item);
    queue->write = (uint8_t)((queue->write + 1) % queue->length);
    ++queue->waiting;
    return true;
}

static NOINLINE bool receive(struct queue *queue, void *item)
{
    if (queue->waiting == 0)
        return false;
    memcpy(item, queue->storage + queue->read * queue->item, queue->item);
    queue->read = (uint8_t)((queue->read + 1) % queue->length);
    --queue->waiting;
    return true;
}

/* The newest parcel goes back to where it came from. */
static NOINLINE void take_back(struct queue *queue)
{
    queue->write = (uint8_t)((queue->write + queue->length - 1) % queue->length);
    --queue->waiting;                   /* CULPRIT */
    ++returned;
}

static NOINLINE void sort(void)
{
    uint32_t parcel;

    if (receive(&sorter, &parcel)) {
        weight += parcel & 0xFF;
        ++delivered;
    }
}

static NOINLINE void carry(void)
{
    uint32_t parcel;

    while (receive(&belt, &parcel))
        if (!send(&sorter, &parcel))
            sort();
}

int main(void)
{
    make(&belt, belt_storage, 4, 6);
    make(&sorter, sorter_storage, 4, 4);
    for (uint32_t parcel = 1; parcel < 600; ++parcel) {
        send(&belt, &parcel);
        if (parcel % 11 == 10)
            take_back(&belt);
        if (parcel % 5 == 4)
            carry();
        sort();
        if (parcel > 180 && parcel % 7 == 3)
            take_back(&sorter);
    }
    return 0;
}
