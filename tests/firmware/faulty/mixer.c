/* A mixer of sounds: voices put blocks into a queue, and the newest block of each gets the echo of the one before. */

#include "board/lib.h"

#define VOICES          3
#define BLOCKS          4
#define SAMPLES         64

struct block {
    int32_t samples[SAMPLES];
};

static struct voice {
    struct block blocks[BLOCKS];
    uint16_t used, taken;
} voices[VOICES];
static uint32_t played;

static NOINLINE void put(struct voice *voice, int32_t level)
{
    struct block *block = &voice->blocks[voice->used];

    for (unsigned i = 0; i < 8; ++i)
        block->samples[i] = level + (int32_t)i;
    ++voice->used;
}

static NOINLINE uint16_t newest(const struct voice *voice)
{
    return (uint16_t)(voice->used - 1);     /* CULPRIT */
}

static NOINLINE void echo(struct voice *voice, int32_t level)
{
    struct block *block = &voice->blocks[newest(voice)];

    for (unsigned i = 0; i < 4; ++i)
        block->samples[i] = level >> i;
}

static NOINLINE void play(struct voice *voice)
{
    for (unsigned i = 0; i < voice->used; ++i)
        played += (uint32_t)voice->blocks[i].samples[0];
    voice->taken = (uint16_t)(voice->taken + voice->used);
    voice->used = 0;
}

int main(void)
{
    for (unsigned beat = 0; beat < 200; ++beat) {
        struct voice *voice = &voices[beat % VOICES];

        if (beat % 17 != 16 || beat < 60)
            put(voice, (int32_t)beat * 100);
        echo(voice, (int32_t)beat);
        if (beat % 2)
            put(voice, -(int32_t)beat);
        play(voice);
    }
    return 0;
}
