/* Intercoms of a house: calls are put through on lines, and each line that is busy is counted. */

#include "board/lib.h"

#define LINES       4

#define assert(x)   ((x) ? (void)0 : __assert_func(__FILE__, __LINE__, __func__, #x))

__attribute__((noinline, noreturn)) void __assert_func(const char *file, int line, const char *function, const char *text);

struct sound {
    void (*say)(const char *text);
    unsigned spoken;
};

struct call {
    uint8_t from, to, left;
};

static struct call calls[LINES];
static unsigned busy, refused;
static struct sound *speaker;
static struct sound hall = { put_text, 0 };

static NOINLINE void tell(const char *text)
{
    ++speaker->spoken;
    speaker->say(text);
}

void __assert_func(const char *file, int line, const char *function, const char *text)
{
    tell(file);
    tell(function);
    tell(text);
    put_number((uint32_t)line);
    while (true)
        __asm volatile("bkpt");
}

static NOINLINE struct call *free_line(void)
{
    for (unsigned i = 0; i < LINES; ++i)
        if (calls[i].left == 0)
            return &calls[i];
    return NULL;
}

static NOINLINE void put_through(unsigned from, unsigned to)
{
    struct call *call = free_line();

    if (call == NULL) {
        ++refused;
        return;
    }
    *call = (struct call){ (uint8_t)from, (uint8_t)to, (uint8_t)(2 + (from + to) % 5) };
    ++busy;
}

static NOINLINE void hang_up(struct call *call)
{
    call->left = 0;
    --busy;                             /* CULPRIT */
}

static NOINLINE void a_minute_later(void)
{
    for (unsigned i = 0; i < LINES; ++i)
        if (calls[i].left != 0 && --calls[i].left == 0)
            hang_up(&calls[i]);
}

/* At night the speaker in the hall is off. */
static NOINLINE void check(unsigned minute)
{
    speaker = minute % 200 < 120 ? &hall : (struct sound *)0x60000000;
    assert(busy <= LINES);              /* FAULTS */
}

int main(void)
{
    for (unsigned minute = 0; minute < 600; ++minute) {
        if (minute % 3 != 2)
            put_through(minute % 7, minute % 5);
        a_minute_later();
        /* Who is called twice is put down by both. */
        if (minute > 130 && minute % 9 == 4)
            hang_up(&calls[minute % LINES]);
        check(minute);
    }
    return 0;
}
