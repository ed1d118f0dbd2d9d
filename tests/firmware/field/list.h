/* Rings of links that stand in the structures they link; an empty ring is a link to itself. */

#ifndef LIST_H
#define LIST_H

#include "lib.h"

struct link {
    struct link *next, *previous;
};

__attribute__((unused)) static inline void link_begin(struct link *link)
{
    link->next = link->previous = link;
}

__attribute__((unused)) static inline bool link_is_alone(const struct link *link)
{
    return link->next == link;
}

__attribute__((unused)) static inline void link_before(struct link *link, struct link *place)
{
    link->next = place;
    link->previous = place->previous;
    place->previous->next = link;
    place->previous = link;
}

__attribute__((unused)) static inline void link_remove(struct link *link)
{
    link->next->previous = link->previous;
    link->previous->next = link->next;
    link_begin(link);
}

#endif
