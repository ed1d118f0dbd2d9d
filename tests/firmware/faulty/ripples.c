/* Ripples on a strip of lights: a handler starts new ones, the main loop moves them and takes out those that ended. */

#include "board/lib.h"

#define RIPPLES         12
#define LIGHTS          20

struct ripple {
    struct ripple *next;
    int32_t place, speed, strength;
    const uint8_t *colour;
};

static struct ripple ripples[RIPPLES];
static struct ripple *volatile alive, *volatile spare;
static uint32_t lights[LIGHTS], started, missed;

static const uint8_t colours[4][3] = { { 9, 1, 0 }, { 0, 8, 2 }, { 3, 3, 3 }, { 1, 0, 7 } };

static NOINLINE struct ripple *pop(struct ripple *volatile *list)
{
    struct ripple *first = *list;

    if (first != NULL)
        *list = first->next;            /* CULPRIT */
    return first;
}

static NOINLINE void push(struct ripple *volatile *list, struct ripple *ripple)
{
    ripple->next = *list;
    *list = ripple;                     /* CULPRIT */
}

void SysTick_Handler(void)
{
    struct ripple *ripple = pop(&spare);

    if (ripple == NULL) {
        ++missed;
        return;
    }
    ripple->place = (int32_t)(started * 7 % LIGHTS);
    ripple->speed = started & 1 ? 1 : -1;
    ripple->strength = 1 + (started & 1);
    ripple->colour = colours[started++ % 4];
    push(&alive, ripple);
}

static NOINLINE void paint(struct ripple *ripple)
{
    const uint8_t *colour = ripple->colour;

    ripple->colour = NULL;
    lights[ripple->place] += (uint32_t)colour[0] << 16 | (uint32_t)colour[1] << 8 | colour[2];
    ripple->place = (ripple->place + ripple->speed + LIGHTS) % LIGHTS;
    --ripple->strength;
    ripple->colour = colour;
}

/* Takes all that are alive, paints them, and puts back those that have not ended. */
static NOINLINE void move_all(void)
{
    struct ripple *ripple, *kept = NULL;
    unsigned count = 0;

    while ((ripple = pop(&alive)) != NULL) {
        if (++count > RIPPLES)
            __asm volatile("udf #1");   /* FAULTS */
        paint(ripple);
        ripple->next = kept;
        kept = ripple;
    }
    while ((ripple = kept) != NULL) {
        kept = ripple->next;
        push(ripple->strength > 0 ? &alive : &spare, ripple);
    }
}

static NOINLINE void fade(void)
{
    for (unsigned i = 0; i < LIGHTS; ++i)
        lights[i] -= lights[i] >> 3 & 0x1F1F1F;
}

int main(void)
{
    for (unsigned i = 0; i < RIPPLES; ++i)
        push(&spare, &ripples[i]);
    systick_start(167);
    for (unsigned i = 0; i < 6000; ++i) {
        move_all();
        fade();
    }
    return 0;
}
