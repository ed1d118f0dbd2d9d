/* A data logger that packs what it measures: an LZ compressor with a window, hash chains and a bit stream, and back. */

#include "lib.h"

#define WINDOW_BITS     8
#define WINDOW          (1u << WINDOW_BITS)
#define LONGEST         18
#define SHORTEST        3
#define HASH_BITS       7
#define CHAIN           12
#define PAGE            160
#define DURATION        170000

struct sink {
    void (*put)(struct sink *sink, uint8_t byte);
    unsigned count;
};

struct page {
    struct sink sink;           /* first: a sink is its page */
    uint8_t bytes[PAGE];
    struct page *next;
    bool full;
};

struct packer {
    uint8_t window[2 * WINDOW];
    int16_t head[1u << HASH_BITS], previous[WINDOW];
    unsigned begin, end;        /* of what waits in the window */
    uint32_t bits;
    unsigned bit_count;
    struct sink *out;
};

struct unpacker {
    uint8_t window[WINDOW];
    unsigned position;
    const struct page *page;
    unsigned taken;
    uint32_t bits;
    unsigned bit_count;
};

struct sample {
    uint32_t time;
    uint16_t level[2];
    uint8_t contacts, sequence;
};

struct match {
    unsigned length, distance;
};

static struct page pages[6], *free_pages, *first_page, *last_page;
static struct packer packer;
static struct unpacker unpacker;
static unsigned packed, unpacked, rounds;

static void page_put(struct sink *sink, uint8_t byte)
{
    struct page *page = (struct page *)sink;

    if (sink->count == PAGE) {
        page->full = true;
        return;
    }
    page->bytes[sink->count++] = byte;
}

static struct page *page_new(void)
{
    struct page *page = free_pages;

    if (page == NULL)
        failed(2);
    free_pages = page->next;
    page->sink = (struct sink){ page_put, 0 };
    page->next = NULL;
    page->full = false;
    if (last_page != NULL)
        last_page->next = page;
    else
        first_page = page;
    last_page = page;
    return page;
}

static void page_free(struct page *page)
{
    page->next = free_pages;
    free_pages = page;
}

/* The packer. */

static void put_bits(struct packer *self, uint32_t value, unsigned count)
{
    self->bits |= value << self->bit_count;
    self->bit_count += count;
    while (self->bit_count >= 8) {
        self->out->put(self->out, (uint8_t)self->bits);
        self->bits >>= 8;
        self->bit_count -= 8;
    }
}

static unsigned hash_of(const uint8_t *bytes)
{
    return ((bytes[0] << 4 ^ bytes[1] << 2 ^ bytes[2]) * 2654435761u) >> (32 - HASH_BITS);
}

static void insert(struct packer *self, unsigned at)
{
    int16_t *head = &self->head[hash_of(self->window + at)];

    self->previous[at % WINDOW] = *head;
    *head = (int16_t)at;
}

static __attribute__((noipa)) struct match longest_match(const struct packer *self, unsigned at)
{
    struct match best = { 0, 0 };
    unsigned most = self->end - at < LONGEST ? self->end - at : LONGEST, tries = CHAIN;
    int candidate = self->head[hash_of(self->window + at)];

    while (candidate >= 0 && at - (unsigned)candidate < WINDOW && tries--) {
        const uint8_t *one = self->window + candidate, *other = self->window + at;
        unsigned length = 0;
        while (length < most && one[length] == other[length])
            ++length;
        if (length > best.length)
            best = (struct match){ length, at - (unsigned)candidate };
        candidate = self->previous[candidate % (int)WINDOW];
    }
    return best;
}

static void pack_waiting(struct packer *self, unsigned keep)
{
    while (self->begin + keep + SHORTEST <= self->end) {
        struct match match = longest_match(self, self->begin);
        unsigned steps = 1;

        if (match.length >= SHORTEST) {
            put_bits(self, 1, 1);
            put_bits(self, match.distance - 1, WINDOW_BITS);
            put_bits(self, match.length - SHORTEST, 4);
            steps = match.length;
        } else {
            put_bits(self, (uint32_t)self->window[self->begin] << 1, 9);
        }
        while (steps-- != 0) {
            if (self->begin + SHORTEST <= self->end)
                insert(self, self->begin);
            ++self->begin;
        }
    }
}

static void slide(struct packer *self)
{
    memmove(self->window, self->window + WINDOW, WINDOW);
    self->begin -= WINDOW;
    self->end -= WINDOW;
    for (unsigned i = 0; i < COUNT(self->head); ++i)
        self->head[i] = (int16_t)(self->head[i] >= (int)WINDOW ? self->head[i] - (int)WINDOW : -1);
    for (unsigned i = 0; i < WINDOW; ++i)
        self->previous[i] = (int16_t)(self->previous[i] >= (int)WINDOW ? self->previous[i] - (int)WINDOW : -1);
}

static void packer_begin(struct packer *self, struct sink *out)
{
    memset(self->head, 0xFF, sizeof self->head);
    self->begin = self->end = 0;
    self->bits = self->bit_count = 0;
    self->out = out;
}

static void packer_write(struct packer *self, const void *data, size_t size)
{
    for (const uint8_t *bytes = data; size--; ++bytes) {
        if (self->end == sizeof self->window) {
            pack_waiting(self, LONGEST);
            slide(self);
        }
        self->window[self->end++] = *bytes;
    }
    pack_waiting(self, LONGEST);
}

static void packer_end(struct packer *self)
{
    pack_waiting(self, 0);
    for (; self->begin < self->end; ++self->begin)
        put_bits(self, (uint32_t)self->window[self->begin] << 1, 9);
    put_bits(self, 0, 7);
}

/* The unpacker. */

static uint32_t get_bits(struct unpacker *self, unsigned count)
{
    uint32_t value;

    while (self->bit_count < count) {
        if (self->taken == self->page->sink.count)
            failed(3);
        self->bits |= (uint32_t)self->page->bytes[self->taken++] << self->bit_count;
        self->bit_count += 8;
    }
    value = self->bits & ((1u << count) - 1);
    self->bits >>= count;
    self->bit_count -= count;
    return value;
}

static void unpack(struct unpacker *self, uint8_t *out, size_t size)
{
    uint8_t *end = out + size;

    self->bits = self->bit_count = 0;
    self->position = 0;
    while (out < end) {
        unsigned length = 1, from = self->position;
        if (get_bits(self, 1)) {
            from = self->position - 1 - get_bits(self, WINDOW_BITS);
            length = SHORTEST + get_bits(self, 4);
        } else {
            self->window[self->position % WINDOW] = (uint8_t)get_bits(self, 8);
        }
        while (length-- != 0 && out < end)
            *out++ = self->window[self->position++ % WINDOW] = self->window[from++ % WINDOW];
    }
}

/* The logger. */

static void take_sample(struct sample *sample, const struct sample *before)
{
    *sample = *before;
    ++sample->sequence;
    sample->time += 10;
    if ((sample->sequence & 3) == 0) {
        sample->level[0] = SAMPLE(0) >> 4 & 0xFF;
        sample->level[1] = SAMPLE(1) >> 4 & 0xFF;
    }
    sample->contacts = (uint8_t)SWITCHES;
}

static void log_page(unsigned count)
{
    static struct sample samples[32], back[32];
    struct page *page = page_new();
    struct sample none = { 1000 * rounds, { 0, 0 }, 0, 0 };

    packer_begin(&packer, &page->sink);
    for (unsigned i = 0; i < count; ++i) {
        take_sample(&samples[i], i == 0 ? &none : &samples[i - 1]);
        packer_write(&packer, &samples[i], sizeof samples[i]);
    }
    packer_end(&packer);
    packed += page->sink.count;
    if (page->full)
        return;
    unpacker.page = page;
    unpacker.taken = 0;
    unpack(&unpacker, (uint8_t *)back, count * sizeof back[0]);
    unpacked += count * sizeof back[0];
    if (memcmp(samples, back, count * sizeof back[0]) != 0)
        failed(4);
}

unsigned program(void)
{
    lib_time_begin();
    for (unsigned i = 0; i < COUNT(pages); ++i)
        page_free(&pages[i]);
    for (; lib_time() < DURATION; ++rounds) {
        log_page(12 + rounds % 20);
        if (rounds >= 3) {
            struct page *oldest = first_page;
            first_page = oldest->next;
            page_free(oldest);
        }
    }
    return packed != 0 && packed < unpacked ? 0 : 5;
}
