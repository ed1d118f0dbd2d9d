/* A diary of measurements: lines of text go to a file, whose buffer is written out when it is full. */

#include "board/lib.h"

#define SIZE            72

struct file {
    char buffer[SIZE];
};

struct diary {
    struct file *file;
    unsigned used, written;
};

static struct diary diary;
static char disk[16][SIZE];

static NOINLINE void copy(char *to, const char *from, unsigned size)
{
    for (unsigned i = 0; i < size; ++i)
        to[i] = from[i];
}

static NOINLINE void flush(struct diary *diary)
{
    copy(disk[diary->written++ % COUNT(disk)], diary->file->buffer, SIZE);
    diary->used = 0;
}

static NOINLINE void append(struct diary *diary, const char *from, unsigned size)
{
    if (size > SIZE - diary->used)
        flush(diary);
    copy(diary->file->buffer + diary->used, from, size);
    diary->used += size;
    if (diary->used == SIZE)
        flush(diary);
}

static NOINLINE void erase(struct file *file)
{
    for (unsigned i = 0; i < SIZE; ++i)
        file->buffer[i] = 0;
}

static NOINLINE void begin(struct diary *diary)
{
    struct file file;

    erase(&file);
    diary->used = 0;
    diary->file = &file;                /* CULPRIT */
}

static NOINLINE unsigned format(char *to, uint32_t value)
{
    unsigned at = 0;

    for (unsigned shift = 32; shift; shift -= 4)
        to[at++] = "0123456789abcdef"[value >> (shift - 4) & 15];
    to[at++] = '\n';
    return at;
}

static NOINLINE void note(struct diary *diary, uint32_t value)
{
    char line[12];
    unsigned size = format(line, value);

    append(diary, line, size);
}

int main(void)
{
    begin(&diary);
    for (uint32_t i = 0; i < 200; ++i)
        note(&diary, 0x1020304u * i);
    put_number(diary.written);
    return 0;
}
