/* An alarm panel: the main loop sorts zones by a recursive sort, an interrupt of the sensor reads its sentences. */

#include "board/lib.h"

#define ZONES           12
#define TEXT            80

struct zone {
    uint16_t number, level;
};

static struct {
    uint16_t history[400];
    struct zone zones[ZONES];
    char sentence[TEXT];
    unsigned length, longest;
    uint32_t loud, sentences;
    void (*siren)(uint32_t on);
} panel;

static NOINLINE void sound(uint32_t on)
{
    panel.loud += on;
}

static NOINLINE uint32_t weight(const char *text, unsigned length)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < length; ++i)
        sum += (uint32_t)text[i] * (i + 1);
    return sum;
}

/* A complete sentence is weighed, as a line of full length. */
static NOINLINE void take_sentence(void)
{                                       /* CULPRIT */
    char line[TEXT * 7];                /* CULPRIT */

    for (unsigned i = 0; i < sizeof line; ++i)
        line[i] = i % TEXT < panel.length ? panel.sentence[i % TEXT] : ' ';     /* CULPRIT */
    panel.sentences += weight(line, TEXT) & 1;
}

void UART_Handler(void)
{
    char byte = (char)UART_DATA;

    if (byte != '\n') {
        if (panel.length < TEXT)
            panel.sentence[panel.length++] = byte;
        return;
    }
    take_sentence();
    if (panel.length > panel.longest)
        panel.longest = panel.length;
    panel.length = 0;
}

static NOINLINE void swap(struct zone *one, struct zone *other)
{
    struct zone kept = *one;

    *one = *other;
    *other = kept;
}

static NOINLINE void sort(struct zone *from, struct zone *to)
{
    struct zone *last = from;

    if (to - from < 2)
        return;
    for (struct zone *at = from + 1; at < to; ++at)
        if (at->level < from->level)
            swap(++last, at);
    swap(from, last);
    sort(last + 1, to);
    sort(from, last);
}

static NOINLINE void look(unsigned round)
{
    for (unsigned i = 0; i < ZONES; ++i) {
        panel.zones[i].number = (uint16_t)i;
        panel.zones[i].level = (uint16_t)(round % 16 == 15 ? i * 3 : (i * 7 + round) % ZONES);
    }
    sort(panel.zones, panel.zones + ZONES);
    panel.history[round] = panel.zones[0].level;
    if (panel.zones[ZONES - 1].level > ZONES - 2)
        panel.siren(round);             /* FAULTS */
}

int main(void)
{
    panel.siren = sound;
    uart_start(61, true);
    for (unsigned round = 0; round < 400; ++round)
        look(round);
    return 0;
}
