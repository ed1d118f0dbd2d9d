/* A link layer: frames with a length and a CRC, recorded from the bus; their payload goes to the node's variables. */

#include "board/lib.h"

#define PAYLOAD         16

struct header {
    uint8_t address, kind, length, sequence;
};

/* Each: address, kind, length, sequence, payload. */
static const uint8_t bus[] = {
    1, 2, 4, 0, 10, 20, 30, 40, 2, 1, 2, 0, 7, 7, 1, 3, 8, 1, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 4, 2, 9, 9, 9, 9,
    3, 1, 1, 0, 0, 1, 1, 12, 3, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6,
};
static const uint8_t burst[] = {
    1, 4, 44, 4, 0x15, 0x25, 0x35, 0x45, 0x16, 0x26, 0x36, 0x46, 0x17, 0x27, 0x37, 0x47, 0x18, 0x28, 0x38, 0x48, 0x19,
    0x29, 0x39, 0x49, 0x1A, 0x2A, 0x3A, 0x4A, 0x1B, 0x2B, 0x3B, 0x4B, 0x1C, 0x2C, 0x3C, 0x4C, 0x1D, 0x2D, 0x3D, 0x4D,
    0x1E, 0x2E, 0x3E, 0x4E, 0x1F, 0x2F, 0x3F, 0x4F,
};
static uint8_t variables[64];
static uint32_t frames, others, crc_sum;

static NOINLINE uint16_t crc16(const uint8_t *data, unsigned length)
{
    uint16_t crc = 0xFFFF;

    while (length--) {
        crc ^= *data++;
        for (unsigned bit = 0; bit < 8; ++bit)
            crc = (uint16_t)(crc & 1 ? crc >> 1 ^ 0xA001 : crc >> 1);
    }
    return crc;
}

static NOINLINE void apply(const uint8_t *payload, unsigned kind, unsigned length)
{
    for (unsigned i = 0; i < length; ++i)
        variables[(kind * 8 + i) % sizeof variables] = payload[i];
}

static NOINLINE void take_frame(const struct header *header, const uint8_t *data)
{
    uint8_t payload[PAYLOAD];

    if (header->address != 1) {
        ++others;
        return;
    }
    memcpy(payload, data, header->length);      /* CULPRIT */
    crc_sum += crc16(payload, header->length < PAYLOAD ? header->length : PAYLOAD);
    apply(payload, header->kind, header->length);
    ++frames;
}                                       /* FAULTS */

static NOINLINE void take_all(const uint8_t *data, size_t size)
{
    const uint8_t *end = data + size;

    while (data + sizeof(struct header) <= end) {
        const struct header *header = (const struct header *)data;
        data += sizeof *header;
        take_frame(header, data);
        data += header->length;
    }
}

int main(void)
{
    for (unsigned i = 0; i < 9; ++i)
        take_all(bus, sizeof bus);
    take_all(burst, sizeof burst);
    return 0;
}
