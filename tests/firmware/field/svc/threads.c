/* Threads: ready ones in the order of priority, waiting ones also in the order of their times. */

#include "internal.h"

#define POOL_WORDS      512
#define CANARY          0xE25A2EA5u

__attribute__((used)) struct kernel kernel;

static uint32_t pool[POOL_WORDS];

void *svc_object(enum kind kind, unsigned size)
{
    static unsigned used;
    struct object *object = (struct object *)&pool[used];

    used += (size + 3) / 4;
    if (used > POOL_WORDS)
        failed(210);
    memset(object, 0, size);
    object->kind = (uint8_t)kind;
    ++kernel.objects;
    return object;
}

uint32_t *svc_frame(svc_thread *thread)
{
    /* r4 to r11 are below the frame, and s16 to s31 where the thread uses them. */
    return thread->stack + (thread->exc_return & 16 ? 8 : 24);
}

void svc_link_by_priority(struct object *object, svc_thread *thread)
{
    svc_thread *before = (svc_thread *)object, *after = object->waiting;

    while (after != NULL && after->priority >= thread->priority) {
        before = after;
        after = after->next;
    }
    thread->previous = before;
    thread->next = after;
    if (after != NULL)
        after->previous = thread;
    if (before == (svc_thread *)object)
        object->waiting = thread;
    else
        before->next = thread;
}

void svc_unlink(svc_thread *thread)
{
    struct object *object = (struct object *)thread->previous;

    if (object == NULL)
        return;
    if (thread->next != NULL)
        thread->next->previous = thread->previous;
    if (object->kind == THREAD)
        thread->previous->next = thread->next;
    else
        object->waiting = thread->next;
    thread->next = thread->previous = NULL;
}

static void delay_insert(svc_thread *thread, uint32_t ticks)
{
    svc_thread *before = NULL, *after = kernel.delays;

    while (after != NULL && after->delay <= ticks) {
        ticks -= after->delay;
        before = after;
        after = after->delay_next;
    }
    thread->delay = ticks;
    thread->delay_previous = before;
    thread->delay_next = after;
    if (before != NULL)
        before->delay_next = thread;
    else
        kernel.delays = thread;
    if (after != NULL) {
        after->delay -= ticks;
        after->delay_previous = thread;
    }
}

static void delay_remove(svc_thread *thread)
{
    if (thread->delay_next != NULL) {
        thread->delay_next->delay += thread->delay;
        thread->delay_next->delay_previous = thread->delay_previous;
    }
    if (thread->delay_previous != NULL)
        thread->delay_previous->delay_next = thread->delay_next;
    else if (kernel.delays == thread)
        kernel.delays = thread->delay_next;
    thread->delay_next = thread->delay_previous = NULL;
}

static void switch_to(svc_thread *thread)
{
    thread->object.state = RUNNING;
    kernel.run.next = thread;
}

/* Lets a ready thread run in the place of the running one; without one, the first that is ready, if it comes before. */
void svc_dispatch(svc_thread *thread)
{
    svc_thread *running = kernel.run.next;

    if (thread == NULL) {
        thread = kernel.ready.waiting;
        if (running == NULL || thread == NULL || thread->priority <= running->priority)
            return;
        svc_unlink(thread);
    } else if (thread->priority <= running->priority) {
        thread->object.state = READY;
        svc_link_by_priority(&kernel.ready, thread);
        return;
    }
    running->object.state = READY;
    svc_link_by_priority(&kernel.ready, running);
    switch_to(thread);
}

bool svc_wait(enum state state, struct object *object, uint32_t ticks)
{
    svc_thread *self = kernel.run.now, *first = kernel.ready.waiting;

    if (ticks == 0)
        return false;
    self->object.state = (uint8_t)state;
    self->waits_for = object;
    if (object != NULL)
        svc_link_by_priority(object, self);
    if (ticks != SVC_FOREVER)
        delay_insert(self, ticks);
    svc_unlink(first);
    switch_to(first);
    return true;
}

void svc_resume(svc_thread *thread, uint32_t result, bool dispatch)
{
    svc_frame(thread)[R0] = result;
    if (thread->waits_for != NULL)
        svc_unlink(thread);
    delay_remove(thread);
    thread->waits_for = NULL;
    thread->object.state = READY;
    if (dispatch)
        svc_dispatch(thread);
    else
        svc_link_by_priority(&kernel.ready, thread);
}

void svc_reorder(svc_thread *thread, int priority)
{
    struct object *object = thread->object.state == READY ? &kernel.ready : thread->waits_for;

    thread->priority = (int8_t)priority;
    if (thread->object.state == RUNNING || object == NULL)
        return;
    svc_unlink(thread);
    svc_link_by_priority(object, thread);
}

static void round_robin(void)
{
    svc_thread *first = kernel.ready.waiting;

    if (first != NULL && first->priority == kernel.run.next->priority) {
        svc_thread *running = kernel.run.next;
        svc_unlink(first);
        running->object.state = READY;
        svc_link_by_priority(&kernel.ready, running);
        switch_to(first);
    }
}

__attribute__((used)) void svc_tick(void)
{
    ++kernel.tick;
    if (kernel.delays != NULL) {
        --kernel.delays->delay;
        while (kernel.delays != NULL && kernel.delays->delay == 0) {
            svc_thread *thread = kernel.delays;
            svc_resume(thread, (uint32_t)(thread->waits_for != NULL ? SVC_TIMEOUT : SVC_OK), false);
        }
    }
    if ((kernel.tick & 1) == 0)
        round_robin();
    svc_dispatch(NULL);
}

/* From the switch in assembly: what the thread that goes on has. */
__attribute__((used)) void svc_switched(svc_thread *from, svc_thread *to)
{
    if (from->object.state != ENDED && *from->limit != CANARY)
        failed(211);
    ++to->runs;
}

static void ended(void)
{
    svc_stop();
}

svc_thread *svc_thread_new(void (*entry)(void *), void *argument, const struct svc_thread_options *options)
{
    svc_thread *thread = svc_object(THREAD, sizeof *thread);
    uint32_t *frame = options->stack + options->words - 8;

    memset(options->stack, 0xCC, options->words * 4);
    options->stack[0] = CANARY;
    frame[R0] = (uint32_t)argument;
    frame[LR] = (uint32_t)ended;
    frame[PC] = (uint32_t)entry & ~1u;
    frame[XPSR] = 1u << 24;
    thread->object.name = options->name;
    thread->object.state = READY;
    thread->priority = thread->own_priority = (int8_t)options->priority;
    thread->privileged = options->privileged;
    thread->stack = frame - 8;
    thread->limit = options->stack;
    svc_link_by_priority(&kernel.ready, thread);
    return thread;
}

static uint32_t do_delay(uint32_t ticks, uint32_t b, uint32_t c, uint32_t d)
{
    (void)b, (void)c, (void)d;
    svc_wait(WAITS, NULL, ticks);
    return SVC_OK;
}

static uint32_t do_yield(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    (void)a, (void)b, (void)c, (void)d;
    round_robin();
    return SVC_OK;
}

static uint32_t do_ticks(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    (void)a, (void)b, (void)c, (void)d;
    return kernel.tick;
}

static uint32_t do_stop(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    (void)a, (void)b, (void)c, (void)d;
    finished();
}

int32_t svc_delay(uint32_t ticks)
{
    return (int32_t)svc_call(do_delay, ticks, 0, 0);
}

int32_t svc_yield(void)
{
    return (int32_t)svc_call(do_yield, 0, 0, 0);
}

uint32_t svc_ticks(void)
{
    return svc_call(do_ticks, 0, 0, 0);
}

int32_t svc_stop(void)
{
    return (int32_t)svc_call(do_stop, 0, 0, 0);
}
