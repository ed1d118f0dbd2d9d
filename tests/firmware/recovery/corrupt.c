/* An index out of range: a table of handlers, its neighbours and a list's pointers are written over. */

#include "inputs.h"

#ifdef __OPTIMIZE__
#define ROUNDS          800
#else
#define ROUNDS          400
#endif

typedef uint32_t (*handler_t)(uint32_t value);

struct node {
    struct node *next;
    uint32_t value;
};

static uint32_t twice(uint32_t value) { return value * 2 + 1; }
static uint32_t mirrored(uint32_t value) { return (value >> 16 | value << 16) ^ 0x55; }
static uint32_t digits(uint32_t value)
{
    uint32_t sum = 0;

    for (; value; value /= 10)
        sum += value % 10;
    return sum;
}
static uint32_t bits(uint32_t value)
{
    uint32_t count = 0;

    for (; value; value &= value - 1)
        ++count;
    return count;
}

static handler_t const known[4] = { twice, mirrored, digits, bits };

/* In this order in memory. */
static struct {
    uint16_t history[12];
    handler_t handlers[4];
    struct node *first;
    uint32_t total;
    struct node nodes[8];
    uint32_t *cursor;
    uint32_t out[16];
} world;

/* No check of the index: beyond 11 it writes handlers, beyond 19 the list's first pointer. */
static __attribute__((noinline)) void remember(unsigned index, uint16_t value)
{
    world.history[index] = value;
}

static __attribute__((noinline)) void repair(void)
{
    for (unsigned i = 0; i < 4; ++i)
        world.handlers[i] = known[i];
    world.first = &world.nodes[0];
    for (unsigned i = 0; i < 8; ++i)
        world.nodes[i].next = i < 7 ? &world.nodes[i + 1] : 0;
    world.cursor = world.out;
}

static __attribute__((noinline)) uint32_t walk(void)
{
    uint32_t sum = 0;
    unsigned steps = 0;

    for (struct node *node = world.first; node && steps < 20; node = node->next, ++steps)
        sum += node->value++;
    return sum;
}

static __attribute__((noinline)) void emit(uint32_t value)
{
    *world.cursor++ = value;
    if (world.cursor == world.out + COUNT(world.out))
        world.cursor = world.out;
}

unsigned run(void)
{
    uint32_t seed = 99, changed = 0;

    for (unsigned round = 0; round < ROUNDS; ++round) {
        if (round % 40 == 0)
            repair();
        seed = seed * 22695477 + 1;
        unsigned index = seed >> 28;
        if (round % 40 == 20) {
            /* The low half of a handler's address becomes that of another; the high half is 0. */
            remember(12 + 2 * (seed >> 30), (uint16_t)(uintptr_t)known[seed >> 9 & 3]);
            ++changed;
        } else if (round % 40 == 30) {
            /* The list begins at another of the nodes, and the cursor points into the list. */
            remember(20, (uint16_t)(uintptr_t)&world.nodes[seed >> 8 & 7]);
            world.cursor = &world.nodes[seed >> 11 & 3].value;
            emit(seed);
            world.cursor = world.out;
        } else {
            remember(index % 12, seed >> 5);
        }
        uint32_t value = world.handlers[seed >> 13 & 3](seed >> 16);
        emit(value);
        world.total += walk() ^ world.history[round % 12];
    }
    return changed > 5 && world.total ? 0 : 1;
}
