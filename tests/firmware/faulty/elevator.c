/* An elevator: states and events in a table, actions by state. */

#include "board/lib.h"

enum state { IDLE, DOOR_CLOSING, MOVING, ARRIVED, DOOR_OPEN, BLOCKED, STATES };
enum event { TIMER, CALL, SENSOR, OBSTACLE, EVENTS };

struct cabin {
    enum state state;
    uint32_t floor, wanted, opened, trips;
};

static const uint8_t table[STATES][EVENTS] = {
    /*                  TIMER           CALL            SENSOR          OBSTACLE */
    [IDLE] =          { IDLE,           DOOR_CLOSING,   IDLE,           IDLE },
    [DOOR_CLOSING] =  { MOVING,         DOOR_CLOSING,   MOVING,         BLOCKED },
    [MOVING] =        { MOVING,         MOVING,         ARRIVED,        MOVING },
    [ARRIVED] =       { DOOR_OPEN,      ARRIVED,        ARRIVED,        ARRIVED },
    [DOOR_OPEN] =     { IDLE,           DOOR_OPEN,      DOOR_OPEN,      DOOR_OPEN },
    [BLOCKED] =       { DOOR_CLOSING,   BLOCKED,        STATES + 1,     BLOCKED },      /* CULPRIT */
};

static void idle(struct cabin *cabin)
{
    cabin->wanted = cabin->floor;
}

static void closing(struct cabin *cabin)
{
    cabin->wanted = (cabin->floor * 3 + 1) % 6;
}

static void moving(struct cabin *cabin)
{
    if (cabin->floor < cabin->wanted)
        ++cabin->floor;
    else if (cabin->floor > cabin->wanted)
        --cabin->floor;
}

static void arrived(struct cabin *cabin)
{
    ++cabin->trips;
}

static void open(struct cabin *cabin)
{
    ++cabin->opened;
}

static void blocked(struct cabin *cabin)
{
    put_number(cabin->floor);
}

static void (*const actions[STATES])(struct cabin *) = { idle, closing, moving, arrived, open, blocked };
static const uint32_t texts[] = { 0xD00B1E55, 0xE1E7A704, 0xF1005001 };
static struct cabin cabin;

static NOINLINE enum event next_event(unsigned time)
{
    unsigned noise = time * 2654435761u >> 27;

    if (noise == 3 || noise == 4)
        return OBSTACLE;
    return noise < 12 ? TIMER : noise < 20 ? CALL : noise < 31 || time < 150 ? SENSOR - (noise > 29) : SENSOR;
}

static NOINLINE void step(struct cabin *c, enum event event)
{
    c->state = (enum state)table[c->state][event];      /* CULPRIT */
    actions[c->state](c);               /* FAULTS */
}

int main(void)
{
    for (unsigned time = 0; time < 3000; ++time) {
        enum event event = next_event(time);
        if (cabin.state == BLOCKED && event == SENSOR && time < 400)
            event = TIMER;
        step(&cabin, event);
        if (time % 16 == 0)
            put_number(texts[time / 16 % COUNT(texts)] & 0xFF);
    }
    return 0;
}
