/* An alarm panel: the main loop sorts zones by a recursive sort, an interrupt of the sensor reads its sentences. */

#include "board/lib.h"

#define ZONES           24
#define TEXT            100

struct zone {
    uint16_t number, level;
};

static struct zone zones[ZONES];
static void (*siren)(uint32_t on) __attribute__((section(".bss.z")));
static uint32_t loud, sentences, longest;

static NOINLINE void sound(uint32_t on)
{
    loud += on;
}

static NOINLINE uint32_t weight(const char *text, unsigned length)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < length; ++i)
        sum += (uint32_t)text[i] * (i + 1);
    return sum;
}

/* The first bytes of a sentence are copied, and weighed when it is complete. */
void UART_Handler(void)
{
    static char sentence[TEXT];
    static unsigned length;
    char byte = (char)UART_DATA;

    if (byte != '\n') {
        if (length < TEXT)
            sentence[length++] = byte;
        return;
    }
    volatile char copy[TEXT * 2];       /* CULPRIT */
    for (unsigned i = 0; i < TEXT * 2; ++i)
        copy[i] = i < length ? sentence[i] : ' ';       /* CULPRIT */
    sentences += weight((const char *)copy, length) & 1;
    if (length > longest)
        longest = length;
    length = 0;
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
    sort(from, last);
    sort(last + 1, to);
}

static NOINLINE void look(unsigned round)
{
    for (unsigned i = 0; i < ZONES; ++i) {
        zones[i].number = (uint16_t)i;
        zones[i].level = (uint16_t)(round % 16 == 15 ? i * 3 : (i * 7 + round) % ZONES);
    }
    sort(zones, zones + ZONES);
    if (zones[ZONES - 1].level > 20)
        siren(round);                   /* FAULTS */
}

int main(void)
{
    siren = sound;
    uart_start(41, true);
    for (unsigned round = 0; round < 400; ++round)
        look(round);
    return 0;
}
