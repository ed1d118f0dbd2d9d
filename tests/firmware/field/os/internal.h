/* What the parts of the kernel know of each other. */

#ifndef OS_INTERNAL_H
#define OS_INTERNAL_H

#include "os.h"

struct os_thread {
    uint32_t *stack;            /* first: PendSV finds it there */
    uint32_t *limit;            /* second, likewise */
    struct link ready;          /* in the ring of its priority, or among those that sleep */
    struct link event;          /* in the ring of what it waits for */
    uint32_t wake;
    uint8_t priority, own_priority;
    bool sleeping, timed_out;
    uint8_t mutexes;
    uint32_t notice;
    bool noticed;
    unsigned switches;
    const char *name;
};

extern os_thread *volatile os_current;

uint32_t *os_port_frame(uint32_t *top, os_entry entry, void *argument);
void os_port_start(void) __attribute__((noreturn));
void os_port_pend(void);

void os_choose(void);
bool os_tick(void);

/* All within a critical section. */
void os_wait(struct link *ring, uint32_t ticks);
bool os_wake_first(struct link *ring);
void os_make_ready(os_thread *thread);
void os_set_priority(os_thread *thread, unsigned priority);

void os_timers_begin(void);

#endif
