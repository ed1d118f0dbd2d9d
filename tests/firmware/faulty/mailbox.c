/* Mail between modules: letters on the heap, with a copy for the archive of whoever wants one. */

#include <stdlib.h>
#include <string.h>

#include "board/chip.h"

#define BOXES           4
#define ROOM            3

struct letter {
    uint16_t from, to;
    uint32_t stamp;
    uint8_t body[20];
};

struct box {
    struct letter *letters[ROOM];
    unsigned count;
    uint32_t read;
};

static struct box boxes[BOXES];
static uint32_t clock_now, lost, checksum;

static NOINLINE struct letter *compose(unsigned from, unsigned to)
{
    struct letter *letter = malloc(sizeof *letter);

    letter->from = (uint16_t)from;
    letter->to = (uint16_t)to;
    letter->stamp = clock_now;
    memset(letter->body, (int)(from * 16 + to), sizeof letter->body);
    return letter;
}

static NOINLINE bool post(struct letter *letter)
{
    struct box *box = &boxes[letter->to];

    if (box->count == ROOM) {
        free(letter);
        ++lost;
        return false;
    }
    box->letters[box->count++] = letter;
    return true;
}

static NOINLINE void read_all(struct box *box)
{
    for (unsigned i = 0; i < box->count; ++i) {
        struct letter *letter = box->letters[i];
        checksum = checksum * 31 + letter->body[letter->stamp % sizeof letter->body];
        ++box->read;
        free(letter);
    }
    box->count = 0;
}

static NOINLINE void send(unsigned from, unsigned to, bool urgent)
{
    struct letter *letter = compose(from, to);

    if (!post(letter) && urgent) {
        read_all(&boxes[to]);
        free(letter);                   /* CULPRIT */
    }
}

int main(void)
{
    for (clock_now = 1; clock_now < 400; ++clock_now) {
        unsigned from = clock_now % BOXES, to = (clock_now * 7 + clock_now / 9) % BOXES;
        send(from, to, clock_now > 60);
        if (clock_now % 5 == 0)
            read_all(&boxes[clock_now / 5 % BOXES]);
    }
    return 0;
}
