/* A thermostat of several rooms: each room is ruled by the best of its sensors. */

#include "board/lib.h"

#define SENSORS         7
#define SILENT          0

struct sensor {
    uint8_t room, quality;
    int16_t offset;
    int32_t value;
};

/* The best of a room's sensors, and how far they differ. */
struct choice {
    const struct sensor *best;
    unsigned heard;
    int32_t lowest, highest;
    uint32_t seen[2];
};

struct room {
    const char *name;
    int32_t wanted;
    bool heats;
};

static struct sensor sensors[SENSORS] = {
    { 0, 3, 2, 205 }, { 0, 5, -1, 207 }, { 1, 2, 0, 190 }, { 2, 4, 3, 221 }, { 2, 1, 0, 230 }, { 3, 2, 1, 180 },
    { 1, 1, -2, 191 },
};
static struct room rooms[] = { { "kitchen", 210, false }, { "bath", 230, false }, { "hall", 190, false },
                               { "attic", 160, false } };
static uint32_t switched, checked;

static NOINLINE void measure(unsigned minute)
{
    for (unsigned i = 0; i < SENSORS; ++i) {
        struct sensor *sensor = &sensors[i];
        int32_t noise = (int32_t)((minute * 37 + i * 11) % 7) - 3;
        sensor->value += rooms[sensor->room].heats ? 2 + noise / 2 : noise / 2 - 1;
    }
    if (minute == 9)
        sensors[5].quality = SILENT;
}

static NOINLINE bool better(const struct sensor *one, unsigned quality)
{
    return one->quality > quality;
}

static NOINLINE void choose(unsigned room, struct choice *choice)
{
    unsigned quality = SILENT;

    choice->heard = 0;
    choice->lowest = 9999;
    choice->highest = -9999;

    for (unsigned i = 0; i < SENSORS; ++i)
        if (sensors[i].room == room && better(&sensors[i], quality)) {
            quality = sensors[i].quality;
            choice->best = &sensors[i];
            choice->seen[choice->heard++ & 1] = i;
            choice->lowest = sensors[i].value < choice->lowest ? sensors[i].value : choice->lowest;
            choice->highest = sensors[i].value > choice->highest ? sensors[i].value : choice->highest;
        }
}

static NOINLINE int32_t corrected(const struct sensor *sensor)
{
    return sensor->value + sensor->offset;      /* FAULTS */
}

static NOINLINE void rule(unsigned number)
{
    struct room *room = &rooms[number];
    struct choice choice;               /* CULPRIT */
    bool heats = room->heats;

    choose(number, &choice);            /* CULPRIT */
    int32_t value = corrected(choice.best);     /* CULPRIT FAULTS */
    if (value < room->wanted - (choice.heard > 1 ? 5 : 8))
        heats = true;
    else if (value > room->wanted + 5)
        heats = false;
    if (heats != room->heats)
        ++switched;
    room->heats = heats;
}

static NOINLINE uint32_t checksum(const char *text)
{
    uint32_t words[16] = { 0 }, sum = 0;

    for (unsigned i = 0; text[i]; ++i)
        words[i % COUNT(words)] ^= (uint32_t)text[i] * 2654435761u;
    for (unsigned i = 0; i < COUNT(words); ++i)
        sum += words[i] = (words[i] & 0xFFFFFu) | 0x90000001u;
    return sum;
}

int main(void)
{
    for (unsigned minute = 0; minute < 100; ++minute) {
        measure(minute);
        for (unsigned i = 0; i < COUNT(rooms); ++i) {
            checked ^= checksum(rooms[i].name);
            rule(i);
        }
    }
    return 0;
}
