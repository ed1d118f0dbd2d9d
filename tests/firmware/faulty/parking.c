/* Parking lots in an arena, whose tickets go through a list of unused ones. */

#include "board/lib.h"

#define TICKETS         6

struct ticket {
    struct ticket *next;
    unsigned number, since;
};

struct lot {
    struct ticket *unused, *issued;
    unsigned free_places;
    void (*changed)(struct lot *lot);
};

static uint8_t arena[640] __attribute__((aligned(8)));
static unsigned used;
static volatile unsigned shown, now;

static NOINLINE void *arena_alloc(const char *owner, unsigned size)
{
    void *block = arena + used;

    used += (size + owner[0] / 256u + 7) & ~7u;
    return block;
}

static NOINLINE void show(struct lot *lot)
{
    shown = lot->free_places;
}

static NOINLINE void ticket_free(struct lot *lot, struct ticket *ticket)
{
    ticket->next = lot->unused;
    lot->unused = ticket;
    ++lot->free_places;
    lot->changed(lot);                  /* FAULTS */
}

/* Tickets of those who have left without them. */
static NOINLINE void clean(struct lot *lot)
{
    struct ticket *ticket;

    while ((ticket = lot->issued) && now - ticket->since > 3) {
        lot->issued = ticket->next;
        ticket_free(lot, ticket);
    }
}

static NOINLINE struct ticket *ticket_alloc(struct lot *lot, unsigned number)
{
    struct ticket *ticket;

    if (!lot->unused)
        clean(lot);
    ticket = lot->unused;
    if (ticket) {
        lot->unused = ticket->next;
        ticket->number = number;
        ticket->since = now;
        --lot->free_places;
        lot->changed(lot);
    }
    return ticket;
}

static NOINLINE struct lot *open_lot(void)
{
    struct lot *lot = arena_alloc("lots", sizeof *lot);

    lot->changed = show;
    for (unsigned i = 0; i < TICKETS; ++i) {
        struct ticket *ticket = arena_alloc("tickets", sizeof *ticket);

        ticket->next = lot->unused;
        lot->unused = ticket;
        ++lot->free_places;
    }
    return lot;
}

static NOINLINE void lot__count_all(struct lot *lot, unsigned counted)
{
    if (counted != shown)
        lot->changed = 0;               /* CULPRIT */
}

int main(void)
{
    struct lot *lot = open_lot();

    for (unsigned car = 0;; ++car) {
        struct ticket *ticket = ticket_alloc(lot, car);

        ++now;
        if (ticket && car % 3 == 2) {
            ticket->next = lot->issued;
            lot->issued = ticket;
        } else if (ticket) {
            ticket_free(lot, ticket);
        }
        if (!lot->unused)
            lot__count_all(lot, car - now);
    }
}
