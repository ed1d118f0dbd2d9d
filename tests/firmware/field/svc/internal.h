/* What the parts of the kernel know of each other. */

#ifndef SVC_INTERNAL_H
#define SVC_INTERNAL_H

#include "svc.h"

enum kind { NOTHING, THREAD = 0xF1, MAILBOX, LOCK, FLAGS };
enum state { READY, RUNNING, WAITS, ENDED };
enum frame { R0, R1, R2, R3, R12, LR, PC, XPSR };

/* What every object begins with. */
struct object {
    uint8_t kind, state, count, flags;
    const char *name;
    svc_thread *waiting;        /* by priority, linked by thread->next */
};

struct svc_thread {
    struct object object;
    svc_thread *next, *previous;
    svc_thread *delay_next, *delay_previous;
    struct object *waits_for;
    uint32_t delay;             /* after the one before it */
    int8_t priority, own_priority;
    bool floats, privileged, later;
    uint32_t wanted;
    svc_lock *locks;
    uint32_t *stack, *limit;
    uint32_t exc_return;
    unsigned runs;
};

struct svc_lock {
    struct object object;
    svc_thread *owner;
    svc_lock *next;
};

struct svc_flags {
    struct object object;
    uint32_t bits, later;
    svc_flags *posted;
};

struct letter {
    struct letter *next;
    uint32_t content[];
};

struct svc_mailbox {
    struct object object;
    unsigned letter_size;
    struct letter *free, *first, **last;
};

struct kernel {
    struct {
        svc_thread *now, *next;
    } run;
    struct object ready;
    svc_thread *delays;
    uint32_t tick;
    svc_flags *volatile posted;
    unsigned objects;
};

extern struct kernel kernel;

void *svc_object(enum kind kind, unsigned size);
uint32_t *svc_frame(svc_thread *thread);
void svc_link_by_priority(struct object *object, svc_thread *thread);
void svc_unlink(svc_thread *thread);
bool svc_wait(enum state state, struct object *object, uint32_t ticks);
void svc_resume(svc_thread *thread, uint32_t result, bool dispatch);
void svc_dispatch(svc_thread *thread);
void svc_reorder(svc_thread *thread, int priority);
void svc_tick(void);
void svc_process_posted(void);
void svc_wake_for_flags(svc_flags *flags);

typedef uint32_t (*svc_function)(uint32_t a, uint32_t b, uint32_t c, uint32_t d);

uint32_t svc_call(svc_function function, uint32_t a, uint32_t b, uint32_t c);

#endif
