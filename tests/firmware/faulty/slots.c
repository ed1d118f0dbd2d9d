/* Packet buffers: a handler takes them, the main loop gives them back; both count. */

#include "board/lib.h"

#define SLOTS           8

#define ASSERT(what)    do { if (!(what)) assertion_failed(#what, __FILE__, __LINE__); } while (0)

__attribute__((noreturn, noinline)) void assertion_failed(const char *what, const char *file, int line);

struct slot {
    volatile bool used;
    uint32_t length, words[4];
};

static struct slot slots[SLOTS];
static volatile uint32_t used_slots;
static uint32_t sum, dropped;

void assertion_failed(const char *what, const char *file, int line)
{
    irq_disable();
    put_text(file);
    put_number((uint32_t)line);
    put_text(what);
    for (;;)
        __asm volatile("bkpt");
}

static NOINLINE struct slot *take_slot(void)
{
    for (unsigned i = 0; i < SLOTS; ++i)
        if (!slots[i].used) {
            slots[i].used = true;
            ++used_slots;
            return &slots[i];
        }
    ++dropped;
    return NULL;
}

/* A packet has arrived. */
void SysTick_Handler(void)
{
    static uint32_t number;
    struct slot *slot = take_slot();

    if (slot == NULL)
        return;
    slot->length = 1 + number++ % 4;
    for (unsigned i = 0; i < slot->length; ++i)
        slot->words[i] = number * 3 + i;
}

static NOINLINE void handle(struct slot *slot)
{
    for (unsigned i = 0; i < slot->length; ++i)
        for (unsigned bit = 0; bit < 8; ++bit)
            sum = (sum << 1 ^ slot->words[i] >> bit) + (sum >> 31);
    slot->used = false;
    --used_slots;                       /* CULPRIT */
}

static NOINLINE void check(void)
{
    unsigned found = 0;

    irq_disable();
    for (unsigned i = 0; i < SLOTS; ++i)
        found += slots[i].used;
    uint32_t counted = used_slots;
    irq_enable();
    ASSERT(found == counted);           /* FAULTS */
}

int main(void)
{
    systick_start(211);
    for (unsigned round = 0; round < 4000; ++round) {
        for (unsigned i = 0; i < SLOTS; ++i)
            if (slots[i].used)
                handle(&slots[i]);
        if (round % 16 == 15)
            check();
    }
    return 0;
}
