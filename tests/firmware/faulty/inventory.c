/* An inventory of tags on a shelf: records come and go in a small heap of its own. */

#include "board/lib.h"

#define ARENA           2048
#define NAME            16
#define SHELF           70

struct block {
    struct block *next;
    size_t size;
};

struct tag {
    uint32_t id;
    uint16_t count, age;
    char name[NAME];
};

static uint32_t arena[ARENA / 4];
static struct block *free_list;
static struct tag *shelf[SHELF];
static uint32_t seen;

static const char *const scans[] = {
    "bolt M6,120", "nut M6,300", "washer,80", "cable 2m,14", "fuse 10A,44", "relay,9", "screw,610", "bracket,12",
    "spring,75", "seal 8mm,33", "clip,90",
};

static const char rare[] = "adapter plate 4.0 mm,2";

static void heap_init(void)
{
    free_list = (struct block *)arena;
    free_list->next = NULL;
    free_list->size = ARENA;
}

static NOINLINE void *heap_take(size_t size)
{
    struct block **link = &free_list, *block;

    size = (size + sizeof(struct block) + 7) & ~7u;
    for (; (block = *link) != NULL; link = &block->next) {      /* FAULTS */
        if (block->size < size)         /* FAULTS */
            continue;
        if (block->size >= size + 2 * sizeof(struct block)) {
            struct block *rest = (struct block *)((char *)block + size);
            rest->size = block->size - size;
            rest->next = block->next;
            *link = rest;
            block->size = size;
        } else {
            *link = block->next;
        }
        return block + 1;
    }
    return NULL;
}

static NOINLINE void heap_give(void *memory)
{
    struct block *block = (struct block *)memory - 1, **link = &free_list;

    while (*link != NULL && *link < block)
        link = &(*link)->next;
    block->next = *link;
    *link = block;
}

static NOINLINE uint16_t read_count(const char *text)
{
    uint16_t count = 0;

    while (*text >= '0' && *text <= '9')
        count = (uint16_t)(count * 10 + (uint16_t)(*text++ - '0'));
    return count;
}

static NOINLINE void fill_in(struct tag *tag, const char *scan)
{
    unsigned at = 0;

    while (scan[at] != ',') {
        tag->name[at] = scan[at];       /* CULPRIT */
        ++at;
    }
    tag->name[at] = 0;
    tag->count = read_count(scan + at + 1);
    tag->id = ++seen;
    tag->age = 0;
}

static NOINLINE void grow_old(void)
{
    for (unsigned i = 0; i < SHELF; ++i)
        if (shelf[i] != NULL && ++shelf[i]->age > 80 + i % 4) {
            heap_give(shelf[i]);
            shelf[i] = NULL;
        }
}

static NOINLINE uint32_t total(void)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < SHELF; ++i)
        if (shelf[i] != NULL)
            sum += shelf[i]->count;
    return sum;
}

static NOINLINE void scanned(const char *scan)
{
    for (unsigned i = 0; i < SHELF; ++i)
        if (shelf[i] == NULL) {
            shelf[i] = heap_take(sizeof(struct tag));
            if (shelf[i] != NULL)
                fill_in(shelf[i], scan);
            return;
        }
}

int main(void)
{
    heap_init();
    for (unsigned round = 0; round < 200; ++round) {
        if (round % 8 == 0)
            grow_old();
        scanned(round % 45 == 44 ? rare : scans[round * 7 % COUNT(scans)]);
        if (round % 4 == 3)
            put_number(total());
    }
    return 0;
}
