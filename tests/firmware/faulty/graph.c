/* A recorder's graph: samples go to a picture, row by row, and the picture to the printer; settings live beside. */

#include "board/lib.h"

#define SAMPLES         32
#define WIDTH           70

struct style {
    uint8_t dots, frame;
    uint16_t shade;
    void (*out)(const char *text);
};

static struct {
    uint32_t maxima[160];
    int16_t samples[SAMPLES];
    uint32_t printed;
    struct style style;
} recorder;

static NOINLINE void record(unsigned second)
{
    for (unsigned i = 0; i < SAMPLES; ++i)
        recorder.samples[i] = (int16_t)(((second + i) * 29) % 61 - 30);
}

static NOINLINE int16_t highest(void)
{
    int16_t found = recorder.samples[0];

    for (unsigned i = 1; i < SAMPLES; ++i)
        if (recorder.samples[i] > found)
            found = recorder.samples[i];
    return found;
}

static NOINLINE void draw_row(char *row, int level, unsigned width)
{
    for (unsigned i = 0; i < width; ++i)
        row[i] = recorder.samples[i % SAMPLES] / 8 == level ? '*' : '.';
    row[width] = 0;
}

static NOINLINE void small_graph(const struct style *style)
{
    char row[SAMPLES + 1];

    for (int level = 1; level >= -1; --level) {
        draw_row(row, level, SAMPLES / 2);
        style->out(row);
    }
    ++recorder.printed;
}

static NOINLINE void large_graph(const struct style *style)   /* CULPRIT */
{                                       /* CULPRIT */
    char rows[9][72];                   /* CULPRIT */

    for (int level = 4; level >= -4; --level)
        draw_row(rows[4 - level], level, WIDTH);                        /* CULPRIT */
    for (unsigned i = 0; i < COUNT(rows); ++i)
        style->out(rows[i]);            /* FAULTS */
    ++recorder.printed;
}

int main(void)
{
    recorder.style = (struct style){ 1, 0, 7, put_text };
    for (unsigned second = 0; second < 60; ++second) {
        record(second);
        recorder.maxima[second] = (uint32_t)highest() + 40;
        put_number(recorder.maxima[second]);
        if (second % 8 == 7)
            small_graph(&recorder.style);
        if (second == 20)
            large_graph(&recorder.style);
    }
    return 0;
}
