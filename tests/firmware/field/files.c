/* A small file system on an array of blocks: a log of directory entries, chains of blocks, and a cache by age. */

#include "list.h"

#define BLOCK           64
#define BLOCKS          96
#define TABLE_BLOCKS    3       /* of a byte for each block */
#define CACHED          6
#define NAME            11
#define OPEN            3
#define DURATION        160000

enum { FREE = 0, END = 0xFE, BAD = 0xFF };
enum error { FINE = 0, NO_SPACE = -1, NOT_FOUND = -2, TOO_MANY = -3, DAMAGED = -4 };

struct device {
    int (*read)(struct device *device, unsigned block, void *data);
    int (*write)(struct device *device, unsigned block, const void *data);
    void *context;
    unsigned reads, writes;
};

struct buffer {
    struct link link;           /* the one used last comes first */
    uint8_t block;
    bool valid, dirty;
    uint8_t data[BLOCK] __attribute__((aligned(4)));
};

struct entry {
    char name[NAME];
    uint8_t first;
    uint16_t size, check;
};

struct volume {
    struct device *device;
    struct link cache;
    struct buffer buffers[CACHED];
    uint8_t directory, search_from;
    unsigned hits, misses;
    struct file *open;
};

struct file {
    struct volume *volume;
    struct file *next;
    uint8_t slot, block;
    uint16_t position, size;
    uint8_t first;
    bool changed;
};

static uint8_t memory[BLOCKS][BLOCK];
static struct volume volume;

/* The device: an array that another one would be flash. */

static int memory_read(struct device *device, unsigned block, void *data)
{
    uint8_t (*blocks)[BLOCK] = device->context;

    ++device->reads;
    if (block >= BLOCKS)
        return DAMAGED;
    memcpy(data, blocks[block], BLOCK);
    return FINE;
}

static int memory_write(struct device *device, unsigned block, const void *data)
{
    uint8_t (*blocks)[BLOCK] = device->context;

    ++device->writes;
    if (block >= BLOCKS)
        return DAMAGED;
    memcpy(blocks[block], data, BLOCK);
    return FINE;
}

/* The cache. */

static int buffer_clean(struct volume *self, struct buffer *buffer)
{
    if (!buffer->dirty)
        return FINE;
    buffer->dirty = false;
    return self->device->write(self->device, buffer->block, buffer->data);
}

static __attribute__((noipa)) struct buffer *buffer_of(struct volume *self, unsigned block)
{
    struct buffer *buffer = NULL;

    for (struct link *link = self->cache.next; link != &self->cache; link = link->next) {
        buffer = CONTAINER(link, struct buffer, link);
        if (buffer->valid && buffer->block == block) {
            ++self->hits;
            link_remove(link);
            link_before(link, self->cache.next);
            return buffer;
        }
    }
    ++self->misses;
    if (buffer == NULL || buffer_clean(self, buffer) != FINE)
        failed(10);
    link_remove(&buffer->link);
    link_before(&buffer->link, self->cache.next);
    buffer->block = (uint8_t)block;
    buffer->valid = self->device->read(self->device, block, buffer->data) == FINE;
    return buffer;
}

static int flush(struct volume *self)
{
    int result = FINE;

    for (unsigned i = 0; i < CACHED; ++i)
        if (buffer_clean(self, &self->buffers[i]) != FINE)
            result = DAMAGED;
    return result;
}

/* Which block follows which. */

static uint8_t table_get(struct volume *self, unsigned block)
{
    return buffer_of(self, block / BLOCK)->data[block % BLOCK];
}

static void table_set(struct volume *self, unsigned block, uint8_t next)
{
    struct buffer *buffer = buffer_of(self, block / BLOCK);

    buffer->data[block % BLOCK] = next;
    buffer->dirty = true;
}

static uint8_t block_allocate(struct volume *self, uint8_t after)
{
    for (unsigned tries = 0; tries < BLOCKS; ++tries) {
        unsigned block = self->search_from;
        self->search_from = (uint8_t)((block + 1) % BLOCKS);
        if (table_get(self, block) != FREE)
            continue;
        table_set(self, block, END);
        if (after != END)
            table_set(self, after, (uint8_t)block);
        return (uint8_t)block;
    }
    return END;
}

static void chain_free(struct volume *self, uint8_t block)
{
    while (block != END && block != FREE) {
        uint8_t next = table_get(self, block);
        table_set(self, block, FREE);
        block = next;
    }
}

/* The directory: one block of entries. */

static uint16_t check_of(const struct entry *entry)
{
    const uint8_t *bytes = (const uint8_t *)entry;
    uint16_t sum = 0x1D0F;

    for (unsigned i = 0; i < offsetof(struct entry, check); ++i)
        sum = (uint16_t)((sum << 1 | sum >> 15) ^ bytes[i]);
    return sum;
}

static struct entry *entry_at(struct volume *self, unsigned slot, bool change)
{
    struct buffer *buffer = buffer_of(self, self->directory);

    buffer->dirty |= change;
    return (struct entry *)buffer->data + slot;
}

static int find(struct volume *self, const char *name)
{
    for (unsigned slot = 0; slot < BLOCK / sizeof(struct entry); ++slot) {
        const struct entry *entry = entry_at(self, slot, false);
        if (entry->name[0] != 0 && strcmp(entry->name, name) == 0)
            return check_of(entry) == entry->check ? (int)slot : DAMAGED;
    }
    return NOT_FOUND;
}

static int create(struct volume *self, const char *name)
{
    for (unsigned slot = 0; slot < BLOCK / sizeof(struct entry); ++slot) {
        struct entry *entry = entry_at(self, slot, false);
        if (entry->name[0] != 0)
            continue;
        entry = entry_at(self, slot, true);
        memset(entry, 0, sizeof *entry);
        memcpy(entry->name, name, strlen(name));
        entry->first = END;
        entry->check = check_of(entry);
        return (int)slot;
    }
    return NO_SPACE;
}

static void format(struct volume *self)
{
    for (unsigned block = 0; block < TABLE_BLOCKS; ++block) {
        struct buffer *buffer = buffer_of(self, block);
        memset(buffer->data, FREE, BLOCK);
        buffer->dirty = true;
    }
    for (unsigned block = 0; block < TABLE_BLOCKS; ++block)
        table_set(self, block, BAD);
    self->directory = TABLE_BLOCKS;
    table_set(self, self->directory, END);
    memset(buffer_of(self, self->directory)->data, 0, BLOCK);
    entry_at(self, 0, true);
}

static void mount(struct volume *self, struct device *device)
{
    memset(self, 0, sizeof *self);
    self->device = device;
    self->directory = TABLE_BLOCKS;
    self->search_from = TABLE_BLOCKS;
    link_begin(&self->cache);
    for (unsigned i = 0; i < CACHED; ++i)
        link_before(&self->buffers[i].link, &self->cache);
}

/* Files. */

static int file_open(struct volume *self, struct file *file, const char *name)
{
    int slot = find(self, name);
    const struct entry *entry;

    if (slot == NOT_FOUND)
        slot = create(self, name);
    if (slot < 0)
        return slot;
    entry = entry_at(self, (unsigned)slot, false);
    *file = (struct file){ self, self->open, (uint8_t)slot, entry->first, 0, entry->size, entry->first, false };
    self->open = file;
    return FINE;
}

static int file_next(struct file *file, bool extend)
{
    uint8_t next;

    if (file->position % BLOCK != 0 || file->position == 0)
        return file->first != END ? FINE : NO_SPACE;
    next = table_get(file->volume, file->block);
    if (next == END && extend)
        next = block_allocate(file->volume, file->block);
    if (next == END)
        return NO_SPACE;
    file->block = next;
    return FINE;
}

static int file_write(struct file *file, const void *data, unsigned size)
{
    const uint8_t *bytes = data;
    unsigned left = size;

    if (file->first == END) {
        file->first = file->block = block_allocate(file->volume, END);
        file->changed = true;
    }
    while (left != 0) {
        unsigned offset = file->position % BLOCK, part = BLOCK - offset < left ? BLOCK - offset : left;
        struct buffer *buffer;
        if (file_next(file, true) != FINE)
            return NO_SPACE;
        buffer = buffer_of(file->volume, file->block);
        memcpy(buffer->data + offset, bytes, part);
        buffer->dirty = true;
        file->position = (uint16_t)(file->position + part);
        bytes += part;
        left -= part;
    }
    if (file->position > file->size) {
        file->size = file->position;
        file->changed = true;
    }
    return (int)size;
}

static int file_read(struct file *file, void *data, unsigned size)
{
    uint8_t *bytes = data;
    unsigned done = 0;

    while (done < size && file->position < file->size) {
        unsigned offset = file->position % BLOCK, part = BLOCK - offset;
        if (part > size - done)
            part = size - done;
        if (part > (unsigned)(file->size - file->position))
            part = (unsigned)(file->size - file->position);
        if (file_next(file, false) != FINE)
            return DAMAGED;
        memcpy(bytes + done, buffer_of(file->volume, file->block)->data + offset, part);
        file->position = (uint16_t)(file->position + part);
        done += part;
    }
    return (int)done;
}

static void file_rewind(struct file *file)
{
    file->position = 0;
    file->block = file->first;
}

static void file_seek_end(struct file *file)
{
    file_rewind(file);
    while (file->position + BLOCK <= file->size) {
        file->position += BLOCK;
        if (file->position < file->size)
            file->block = table_get(file->volume, file->block);
    }
    file->position = file->size;
}

static void file_close(struct file *file)
{
    struct file **place = &file->volume->open;

    if (file->changed) {
        struct entry *entry = entry_at(file->volume, file->slot, true);
        entry->first = file->first;
        entry->size = file->size;
        entry->check = check_of(entry);
    }
    while (*place != file)
        place = &(*place)->next;
    *place = file->next;
}

static int file_remove(struct volume *self, const char *name)
{
    int slot = find(self, name);
    struct entry *entry;

    if (slot < 0)
        return slot;
    chain_free(self, entry_at(self, (unsigned)slot, false)->first);
    entry = entry_at(self, (unsigned)slot, true);
    memset(entry, 0, sizeof *entry);
    return FINE;
}

/* What uses it: a log of measurements, and settings beside it. */

struct line {
    uint16_t number, level;
    uint32_t sum;
};

static uint32_t read_all(struct file *file)
{
    struct line line;
    uint32_t sum = 0;
    unsigned count = 0;

    file_rewind(file);
    while (file_read(file, &line, sizeof line) == (int)sizeof line) {
        if (line.sum != (line.number * 31u ^ line.level))
            failed(3);
        sum = sum * 7 + line.level;
        ++count;
    }
    return count != 0 ? sum | 1 : 0;
}

static unsigned use(unsigned round)
{
    char name[NAME] = "log0";
    struct file log, settings;
    struct line line;
    uint8_t bytes[24];

    name[3] = (char)('0' + round % 3);
    if (round >= 3 && round % 4 == 0)
        file_remove(&volume, name);
    if (file_open(&volume, &log, name) != FINE || file_open(&volume, &settings, "settings") != FINE)
        return 4;
    file_seek_end(&log);
    for (unsigned i = 0; i < 9; ++i) {
        line.number = (uint16_t)(round * 16 + i);
        line.level = (uint16_t)(SAMPLE(i & 3) & 0xFFF);
        line.sum = line.number * 31u ^ line.level;
        if (file_write(&log, &line, sizeof line) != (int)sizeof line)
            return 5;
    }
    memset(bytes, (int)round, sizeof bytes);
    bytes[3] = (uint8_t)SWITCHES;
    if (file_write(&settings, bytes, sizeof bytes) < 0)
        return 6;
    if (read_all(&log) == 0)
        return 7;
    file_close(&log);
    file_close(&settings);
    return round % 5 == 4 ? (unsigned)-flush(&volume) : 0;
}

unsigned program(void)
{
    static struct device device = { memory_read, memory_write, memory, 0, 0 };
    unsigned round = 0, result;

    lib_time_begin();
    mount(&volume, &device);
    format(&volume);
    for (; lib_time() < DURATION; ++round) {
        result = use(round);
        if (result != 0)
            return result;
        if (round % 16 == 15) {
            flush(&volume);
            mount(&volume, &device);
        }
    }
    return volume.hits > volume.misses && device.writes != 0 && volume.open == NULL ? 0 : 8;
}
