/* A boot loader: checks two slots for an application, and starts the newer one. */

#include "board/lib.h"

#define SLOT_A          0x00040000u
#define SLOT_B          0x00060000u
#define WORDS           48

struct slot {
    uint32_t base, version, sum;
    bool valid;
};

struct application {
    uint32_t stack;
    void (*entry)(void);
};

static struct slot slots[2];
static uint32_t checked, starts;

static uint32_t word_at(uint32_t address)
{
    return *(const volatile uint32_t *)address;
}

static NOINLINE uint32_t crc32(uint32_t address, unsigned words)
{
    uint32_t crc = ~0u;

    while (words--) {
        crc ^= word_at(address);
        for (unsigned bit = 0; bit < 8; ++bit)
            crc = crc >> 1 ^ (0xEDB88320u & -(crc & 1));
        address += 4;
    }
    return ~crc;
}

static NOINLINE void check(struct slot *slot, uint32_t base)
{
    slot->base = base;
    slot->version = word_at(base + 4 * WORDS);
    slot->sum = crc32(base, WORDS);
    slot->valid = slot->version != 0;   /* CULPRIT */
    ++checked;
}

static NOINLINE const struct slot *newest(void)
{
    const struct slot *found = NULL;

    for (unsigned i = 0; i < COUNT(slots); ++i)
        if (slots[i].valid && (found == NULL || slots[i].version >= found->version))
            found = &slots[i];
    return found;
}

static NOINLINE void start(const struct slot *slot)
{
    const struct application *application = (const struct application *)slot->base;

    ++starts;
    application->entry();               /* CULPRIT FAULTS */
}

static NOINLINE void blink(uint32_t number)
{
    put_text(number & 1 ? "boot\n" : "....\n");
    for (volatile unsigned i = 0; i < 60; ++i)
        ;
}

int main(void)
{
    check(&slots[0], SLOT_A);
    check(&slots[1], SLOT_B);
    for (uint32_t i = 0; i < 8; ++i)
        blink(i);
    if (newest() != NULL)
        start(newest());
    return 0;
}
