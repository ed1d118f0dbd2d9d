/* A kernel for privileged threads: PendSV switches, BASEPRI and a counter of nesting keep interrupts away. */

#ifndef OS_H
#define OS_H

#include "../heap.h"
#include "../list.h"

#define OS_PRIORITIES   5
#define OS_FOREVER      0xFFFFFFFFu

typedef enum { OS_OK, OS_TIMED_OUT, OS_FULL, OS_NO_MEMORY } os_status;

typedef struct os_thread os_thread;
typedef struct os_queue os_queue;
typedef struct os_mutex os_mutex;
typedef struct os_timer os_timer;

typedef void (*os_entry)(void *argument);
typedef void (*os_callback)(os_timer *timer, void *context);

void os_begin(void *area, size_t size);
void os_run(void);
void *os_allocate(size_t size);
void os_free(void *pointer);

void os_enter_critical(void);
void os_leave_critical(void);

os_thread *os_thread_new(const char *name, os_entry entry, void *argument, unsigned priority, size_t words);
void os_sleep(uint32_t ticks);
void os_yield(void);
uint32_t os_ticks(void);
unsigned os_switches(const os_thread *thread);
void os_notify(os_thread *thread, uint32_t value);
uint32_t os_notified(uint32_t ticks);

os_queue *os_queue_new(unsigned length, size_t item_size);
os_status os_queue_send(os_queue *queue, const void *item, uint32_t ticks);
os_status os_queue_receive(os_queue *queue, void *item, uint32_t ticks);

os_mutex *os_mutex_new(void);
os_status os_mutex_take(os_mutex *mutex, uint32_t ticks);
void os_mutex_give(os_mutex *mutex);

os_timer *os_timer_new(const char *name, uint32_t period, bool again, os_callback callback, void *context);
os_status os_timer_start(os_timer *timer, uint32_t ticks);

#endif
