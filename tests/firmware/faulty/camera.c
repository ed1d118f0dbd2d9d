/* A line camera: DMA copies each line into the next place of a picture; then the picture is looked at. */

#include "board/lib.h"

#define WIDTH           32
#define LINES           4

static struct {
    uint8_t lines[LINES][WIDTH];
    uint32_t (*look)(const uint8_t *line);
    uint32_t pictures, bright;
} picture;

static uint8_t sensor[WIDTH];

static uint32_t brightest(const uint8_t *line)
{
    uint32_t found = 0;

    for (unsigned i = 0; i < WIDTH; ++i)
        if (line[i] > found)
            found = line[i];
    return found;
}

static NOINLINE void expose(unsigned time)
{
    for (unsigned i = 0; i < WIDTH; ++i)
        sensor[i] = (uint8_t)(0x90 + (time * 3 + i * 5) % 96);
}

static NOINLINE void fetch(unsigned number)
{
    DMA_SRC = (uint32_t)sensor;
    DMA_DST = (uint32_t)picture.lines[number];  /* CULPRIT */
    DMA_COUNT = WIDTH;
    DMA_CTRL = DMA_ENABLE;
    while ((DMA_STATUS & DMA_DONE) == 0)
        ;
    DMA_STATUS = DMA_DONE;
}

static NOINLINE unsigned lines_of(unsigned time)
{
    return time % 10 == 9 ? LINES + 1 : LINES;
}

int main(void)
{
    picture.look = brightest;
    for (unsigned time = 0; time < 40; ++time) {
        for (unsigned i = 0; i < lines_of(time); ++i) {
            expose(time + i);
            fetch(i);
        }
        for (unsigned i = 0; i < LINES; ++i)
            picture.bright += picture.look(picture.lines[i]);   /* FAULTS */
        ++picture.pictures;
    }
    return 0;
}
