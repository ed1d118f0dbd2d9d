/* Packets of a radio: records follow one another without padding, and are read as structures. */

#include "board/lib.h"

struct reading {
    uint32_t time;
    uint32_t node;
    uint64_t energy;
};

static uint8_t air[160];
static uint64_t total;
static uint32_t latest, readings, texts;

static NOINLINE unsigned receive(unsigned number)
{
    unsigned at = 0;

    for (unsigned record = 0; record < 4; ++record) {
        if (record == 2 && number % 6 == 5) {
            unsigned length = 3 + number % 4;
            air[at++] = 'T';
            air[at++] = (uint8_t)length;
            air[at++] = 0;
            air[at++] = 0;
            for (unsigned i = 0; i < length; ++i)
                air[at++] = (uint8_t)('a' + i);
            if (number < 10)
                while (at % 4)
                    air[at++] = 0;
        } else {
            air[at++] = 'R';
            air[at++] = 16;
            air[at++] = 0;
            air[at++] = 0;
            for (unsigned i = 0; i < 16; ++i)
                air[at++] = (uint8_t)(number * 5 + i * (i < 10));
        }
    }
    return at;
}

static NOINLINE void add_reading(const struct reading *reading)
{
    total += reading->energy;           /* FAULTS */
    latest ^= reading->time ^ reading->node;      /* FAULTS */
    ++readings;
}

static NOINLINE void parse(const uint8_t *data, unsigned size)
{
    const uint8_t *end = data + size;

    while (data < end) {
        uint8_t kind = data[0], length = data[1];
        data += 4;
        if (kind == 'R')
            add_reading((const struct reading *)data);  /* CULPRIT */
        else
            texts += length;
        data += length;                 /* CULPRIT */
        if (kind == 'T' && latest != 0)
            while (*data == 0)
                ++data;
    }
}

int main(void)
{
    SCB_CCR |= CCR_UNALIGN_TRP;
    for (unsigned number = 0; number < 100; ++number)
        parse(air, receive(number));
    return 0;
}
