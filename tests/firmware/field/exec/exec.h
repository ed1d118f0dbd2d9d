/* A small executive: PRIMASK keeps interrupts away, PendSV waits for the next thread; no limits, no floating point. */

#ifndef EXEC_H
#define EXEC_H

#include "../list.h"

#define EXEC_FOREVER    0xFFFFFFFFu

typedef struct exec_thread exec_thread;
typedef void (*exec_alarm)(void *context);

struct exec_semaphore {
    unsigned count;
    struct link waiting;
};

struct exec_flags {
    uint32_t bits;
    struct link waiting;
};

struct exec_timer {
    struct link link;
    uint32_t left, again;
    exec_alarm alarm;
    void *context;
};

struct exec_thread {
    uint32_t *stack;
    struct link link;           /* among the ready ones of its priority, or in what it waits for */
    struct exec_timer timeout;
    uint8_t priority, slice, slice_left, result;
    uint32_t wanted, got;
    void (*leave)(exec_thread *thread);
    unsigned runs;
    uint32_t *begin;
    void (*entry)(void *argument);
    void *argument;
};

struct exec_pool {
    struct exec_pool_block *first;
    unsigned size;
    struct link waiting;
};

void exec_begin(void);
void exec_run(void);
void exec_thread_begin(exec_thread *thread, void (*entry)(void *), void *argument, uint32_t *words, unsigned count,
                       unsigned priority, unsigned slice);
void exec_sleep(uint32_t ticks);
void exec_relinquish(void);
uint32_t exec_time(void);

void exec_semaphore_begin(struct exec_semaphore *semaphore, unsigned count);
bool exec_semaphore_get(struct exec_semaphore *semaphore, uint32_t ticks);
void exec_semaphore_put(struct exec_semaphore *semaphore);

void exec_flags_begin(struct exec_flags *flags);
uint32_t exec_flags_get(struct exec_flags *flags, uint32_t wanted, uint32_t ticks);
void exec_flags_set(struct exec_flags *flags, uint32_t bits);

void exec_timer_begin(struct exec_timer *timer, exec_alarm alarm, void *context, uint32_t first, uint32_t again);

void exec_pool_begin(struct exec_pool *pool, void *area, unsigned size);
void *exec_pool_get(struct exec_pool *pool, unsigned size);
void exec_pool_put(struct exec_pool *pool, void *pointer);

#endif
