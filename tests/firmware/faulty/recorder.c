/* A recorder of events: they are gathered in a block, which DMA copies into one of the blocks that wait for the card. */

#include "board/lib.h"

#define EVENTS          6
#define BLOCKS          3

struct event {
    uint32_t time;
    uint16_t kind, value;
};

struct block {
    struct event events[EVENTS];
    struct block *next;
};

static struct event gathered[2 * EVENTS];
static struct block blocks[BLOCKS], *waiting;
static uint32_t written, checks;

static NOINLINE void start_copy(void *to, const void *from, unsigned size)
{
    DMA_SRC = (uint32_t)from;
    DMA_DST = (uint32_t)to;
    DMA_COUNT = size;
    DMA_CTRL = DMA_ENABLE;
}

static NOINLINE void wait_for_copy(void)
{
    while (DMA_STATUS == 0)
        ;
    DMA_STATUS = DMA_DONE;
}

static NOINLINE void gather(unsigned count, unsigned time)
{
    for (unsigned i = 0; i < count; ++i) {
        gathered[i].time = 0xA0000000 + time * 16 + i;
        gathered[i].kind = (uint16_t)(time % 5);
        gathered[i].value = (uint16_t)(i * time);
    }
}

static NOINLINE void keep(struct block *block, unsigned count)
{
    block->next = waiting;
    waiting = block;
    start_copy(block->events, gathered, count * sizeof(struct event));  /* CULPRIT */
    wait_for_copy();
}

static NOINLINE void flush(void)
{
    while (waiting != NULL) {
        struct block *block = waiting;

        waiting = block->next;          /* FAULTS */
        for (unsigned i = 0; i < EVENTS; ++i)
            checks += block->events[i].time;
        ++written;
    }
}

int main(void)
{
    for (unsigned time = 1; time < 90; ++time) {
        unsigned count = time % 20 == 0 ? EVENTS + 2 : time % EVENTS + 1;

        gather(count, time);
        keep(&blocks[time % BLOCKS], count);
        if (time % BLOCKS == 2)
            flush();
    }
    return 0;
}
