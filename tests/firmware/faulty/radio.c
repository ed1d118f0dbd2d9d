/* A radio: packets are copied by DMA out of its memory, a header first, and then the rest if it is for us. */

#include "board/lib.h"

#define SIZE            240
#define OURS            3

static uint8_t air[SIZE];
static uint32_t taken, skipped, sum;

static NOINLINE void begin(void *to, unsigned size)
{
    DMA_SRC = (uint32_t)air;
    DMA_DST = (uint32_t)to;
    DMA_COUNT = size;
    DMA_CTRL = DMA_ENABLE;
}

static NOINLINE void end(void)
{
    while (DMA_STATUS == 0)
        ;
    DMA_STATUS = DMA_DONE;
}

static NOINLINE void send(unsigned number)
{
    for (unsigned i = 0; i < SIZE; ++i)
        air[i] = (uint8_t)(0x81 + number + i * 7);
    air[0] = (uint8_t)(number % 5);
}

static NOINLINE uint32_t weigh(const uint8_t *bytes, unsigned size)
{
    uint32_t found = 0;

    for (unsigned i = 0; i < size; ++i)
        found = found * 31 + bytes[i];
    return found;
}

static NOINLINE uint32_t receive(unsigned number)
{
    uint8_t packet[SIZE];

    begin(packet, SIZE);                /* CULPRIT */
    if (number % 23 == 22)
        return number;
    end();
    if (packet[0] != OURS) {
        ++skipped;
        return 0;
    }
    ++taken;
    return weigh(packet, SIZE);
}

static NOINLINE uint32_t spread(uint32_t value, unsigned depth)
{
    uint32_t parts[6];

    for (unsigned i = 0; i < 6; ++i)
        parts[i] = value >> i;
    if (depth)
        value += spread(parts[depth % 6], depth - 1);
    return value + parts[5];
}

int main(void)
{
    for (unsigned number = 0; number < 60; ++number) {
        send(number);
        sum += receive(number);
        sum += spread(number, 4);
        DMA_STATUS = DMA_DONE;
    }
    return 0;
}
