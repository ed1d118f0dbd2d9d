/* A log in a serial flash: pages are read to a cache, changed there, and written back when another is wanted. */

#include "board/lib.h"

#define PAGE            32
#define PAGES           8
#define SLOTS           2

struct slot {
    uint8_t *data;
    uint8_t page, used;
    bool dirty, open;
};

static uint8_t chip[PAGES][PAGE], buffers[SLOTS][PAGE];
static struct slot slots[SLOTS];
static uint32_t reads, writes, clock_now, records;

static NOINLINE void write_back(struct slot *slot)
{
    if (slot->open && slot->dirty) {
        memcpy(chip[slot->page], slot->data, PAGE);
        ++writes;
    }
    slot->dirty = false;
}

static NOINLINE struct slot *load(unsigned page)
{
    struct slot *oldest = &slots[0];

    for (unsigned i = 0; i < SLOTS; ++i) {
        if (slots[i].open && slots[i].page == page)
            return &slots[i];
        if ((uint8_t)(clock_now - slots[i].used) > (uint8_t)(clock_now - oldest->used))
            oldest = &slots[i];
    }
    write_back(oldest);
    memcpy(oldest->data, chip[page], PAGE);
    oldest->page = (uint8_t)page;
    oldest->open = true;
    ++reads;
    return oldest;
}

static NOINLINE void put(unsigned page, unsigned at, uint8_t byte)
{
    struct slot *slot = load(page);

    slot->used = (uint8_t)++clock_now;
    slot->data[at % PAGE] = byte;       /* FAULTS */
    slot->dirty = true;
}

static NOINLINE void append(uint32_t value)
{
    unsigned page = records / 8 % PAGES, at = records % 8 * 4;

    for (unsigned i = 0; i < 4; ++i)
        put(page, at + i, (uint8_t)(value >> 8 * i));
    put((page + 3) % PAGES, 31, (uint8_t)records);
    ++records;
}

static NOINLINE void close_all(void)
{
    for (unsigned i = 0; i < SLOTS; ++i) {
        write_back(&slots[i]);
        slots[i].data = NULL;           /* CULPRIT */
    }
}

int main(void)
{
    for (unsigned i = 0; i < SLOTS; ++i)
        slots[i].data = buffers[i];
    for (unsigned i = 0; i < 120; ++i) {
        append(i * 2654435761u);
        if (i == 50)
            close_all();
    }
    return 0;
}
