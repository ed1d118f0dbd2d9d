/* Conversions of units: each value is formatted for people, and the newest texts are shown. */

#include "board/lib.h"

struct shown {
    const char *text;
    uint32_t length;
    void (*put)(const char *text);
};

struct conversion {
    const char *unit;
    int32_t factor, shift;
    struct shown *to;
};

static struct shown celsius = { "", 0, put_text }, fahrenheit = { "", 0, put_text }, kelvin = { "", 0, put_text };
static const struct conversion conversions[] = {
    { "C", 10, 0, &celsius }, { "F", 18, 320, &fahrenheit }, { "K", 10, 2732, &kelvin },
};

struct picture {
    char text[16];
    struct shown shown;
};

static NOINLINE unsigned write_tenths(char *to, int32_t value)
{
    unsigned at = 0;
    int32_t scale = 10;

    if (value < 0) {
        to[at++] = '-';
        value = -value;
    }
    while (scale * 10 <= value)
        scale *= 10;
    for (; scale > 0; scale /= 10) {
        if (scale == 1)
            to[at++] = '.';
        to[at++] = (char)('0' + value / scale % 10);
    }
    to[at] = 0;
    return at;
}

static NOINLINE struct shown *itself(struct shown *shown)
{
    return shown;
}

static NOINLINE struct shown *convert(const struct conversion *conversion, int32_t tenths)
{
    struct picture picture;
    unsigned length = write_tenths(picture.text, tenths * conversion->factor / 10 + conversion->shift);

    if (length < 6) {
        conversion->to->text = conversion->unit;
        conversion->to->length = length;
        return conversion->to;
    }
    picture.shown = *conversion->to;
    picture.shown.text = picture.text;
    picture.shown.length = length;
    return itself(&picture.shown);      /* CULPRIT */
}

static NOINLINE uint32_t weigh(const char *text, uint32_t length)
{
    uint32_t words[12], sum = 0;

    for (unsigned i = 0; i < COUNT(words); ++i)
        words[i] = length * 0x01010101u + (uint32_t)text[0] * i;
    for (unsigned i = 0; i < 40; ++i)
        sum += words[(sum + i) % COUNT(words)] ^ i;
    return sum;
}

static NOINLINE uint32_t show(const struct conversion *conversion, int32_t tenths)
{
    struct shown *shown = convert(conversion, tenths);
    uint32_t weight = weigh(conversion->unit, 3);

    shown->put(shown->text);            /* FAULTS */
    return weight;
}

int main(void)
{
    uint32_t sum = 0;

    for (int32_t i = 0; i < 400; ++i)
        sum += show(&conversions[i % 3], 150 + i * 400);
    put_number(sum);
    return 0;
}
