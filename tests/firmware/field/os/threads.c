/* Threads: which is ready, which sleeps, which comes next. */

#include "internal.h"

#define STACK_FILL      0xA5A5A5A5u

__attribute__((used)) os_thread *volatile os_current;

static struct heap heap;
static struct link ready[OS_PRIORITIES];
static uint32_t ready_priorities;
static struct link sleeping;
static volatile uint32_t tick_count;
static volatile unsigned nesting;

void *os_allocate(size_t size)
{
    os_enter_critical();
    void *found = heap_allocate(&heap, size);
    os_leave_critical();
    return found;
}

void os_free(void *pointer)
{
    os_enter_critical();
    heap_free(&heap, pointer);
    os_leave_critical();
}

void os_enter_critical(void)
{
    __asm volatile("msr basepri, %0\n\tisb\n\tdsb" :: "r"(0x40) : "memory");
    ++nesting;
}

void os_leave_critical(void)
{
    if (--nesting == 0)
        __asm volatile("msr basepri, %0" :: "r"(0) : "memory");
}

void os_make_ready(os_thread *thread)
{
    ready_priorities |= 1u << thread->priority;
    link_before(&thread->ready, &ready[thread->priority]);
}

static void make_unready(os_thread *thread)
{
    link_remove(&thread->ready);
    if (link_is_alone(&ready[thread->priority]))
        ready_priorities &= ~(1u << thread->priority);
}

static void sleep_until(os_thread *thread, uint32_t wake)
{
    struct link *place = sleeping.next;

    thread->wake = wake;
    while (place != &sleeping && (int32_t)(CONTAINER(place, os_thread, ready)->wake - wake) <= 0)
        place = place->next;
    link_before(&thread->ready, place);
    thread->sleeping = true;
}

static void resume(os_thread *thread)
{
    link_remove(&thread->ready);
    link_remove(&thread->event);
    thread->sleeping = false;
    os_make_ready(thread);
    if (os_current != NULL && thread->priority > os_current->priority)
        os_port_pend();
}

void os_wait(struct link *ring, uint32_t ticks)
{
    os_thread *self = os_current;
    struct link *place = ring;

    make_unready(self);
    self->timed_out = false;
    if (ring != NULL) {
        for (place = ring->next; place != ring; place = place->next)
            if (CONTAINER(place, os_thread, event)->priority < self->priority)
                break;
        link_before(&self->event, place);
    }
    if (ticks != OS_FOREVER)
        sleep_until(self, tick_count + ticks);
    os_port_pend();
}

bool os_wake_first(struct link *ring)
{
    if (link_is_alone(ring))
        return false;
    resume(CONTAINER(ring->next, os_thread, event));
    return true;
}

void os_set_priority(os_thread *thread, unsigned priority)
{
    bool is_ready = !thread->sleeping && link_is_alone(&thread->event);

    if (is_ready)
        make_unready(thread);
    thread->priority = (uint8_t)priority;
    if (is_ready)
        os_make_ready(thread);
}

/* From SysTick: whether another thread is to run. */
bool os_tick(void)
{
    bool change = false;

    ++tick_count;
    while (!link_is_alone(&sleeping)) {
        os_thread *thread = CONTAINER(sleeping.next, os_thread, ready);
        if ((int32_t)(thread->wake - tick_count) > 0)
            break;
        thread->timed_out = true;
        resume(thread);
        change |= thread->priority >= os_current->priority;
    }
    return change || ready[os_current->priority].next != ready[os_current->priority].previous;
}

/* From PendSV. */
__attribute__((used)) void os_choose(void)
{
    unsigned priority = 31u - (unsigned)__builtin_clz(ready_priorities);
    struct link *ring = &ready[priority], *first = ring->next;

    if (*os_current->limit != STACK_FILL)
        failed(201);
    link_remove(first);
    link_before(first, ring);
    os_current = CONTAINER(first, os_thread, ready);
    ++os_current->switches;
}

os_thread *os_thread_new(const char *name, os_entry entry, void *argument, unsigned priority, size_t words)
{
    os_thread *thread = os_allocate(sizeof *thread);
    uint32_t *stack = os_allocate(words * sizeof *stack);

    if (thread == NULL || stack == NULL)
        return NULL;
    memset(thread, 0, sizeof *thread);
    for (size_t i = 0; i < words; ++i)
        stack[i] = STACK_FILL;
    thread->name = name;
    thread->limit = stack;
    thread->priority = thread->own_priority = (uint8_t)priority;
    thread->stack = os_port_frame((uint32_t *)((uintptr_t)(stack + words) & ~(uintptr_t)7), entry, argument);
    link_begin(&thread->ready);
    link_begin(&thread->event);
    os_enter_critical();
    os_make_ready(thread);
    if (os_current == NULL || os_current->priority < priority)
        os_current = thread;
    os_leave_critical();
    return thread;
}

void os_sleep(uint32_t ticks)
{
    os_enter_critical();
    os_wait(NULL, ticks);
    os_leave_critical();
}

void os_yield(void)
{
    os_port_pend();
}

uint32_t os_ticks(void)
{
    return tick_count;
}

unsigned os_switches(const os_thread *thread)
{
    return thread->switches;
}

void os_notify(os_thread *thread, uint32_t value)
{
    os_enter_critical();
    thread->notice += value;
    if (thread->noticed) {
        thread->noticed = false;
        resume(thread);
    }
    os_leave_critical();
}

/* Waits for a notice unless there is one; 0 when none came in time. */
uint32_t os_notified(uint32_t ticks)
{
    uint32_t value;

    os_enter_critical();
    if (os_current->notice == 0 && ticks != 0) {
        os_current->noticed = true;
        os_wait(NULL, ticks);
    }
    os_leave_critical();
    os_enter_critical();
    value = os_current->notice;
    os_current->notice = 0;
    os_current->noticed = false;
    os_leave_critical();
    return value;
}

static void idle(void *argument)
{
    for (volatile uint32_t *turns = argument;;)
        ++*turns;
}

void os_begin(void *area, size_t size)
{
    heap_begin(&heap, area, size);
    for (unsigned i = 0; i < OS_PRIORITIES; ++i)
        link_begin(&ready[i]);
    link_begin(&sleeping);
    os_timers_begin();
}

void os_run(void)
{
    static volatile uint32_t turns;

    os_thread_new("idle", idle, (void *)&turns, 0, 96);
    os_port_start();
}
