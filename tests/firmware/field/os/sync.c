/* Queues that copy items, and mutexes whose owner inherits the priority of who waits. */

#include "internal.h"

struct os_queue {
    uint8_t *begin, *end, *write, *read;
    unsigned length, count;
    size_t item_size;
    struct link senders, receivers;
};

struct os_mutex {
    os_thread *owner;
    unsigned depth;
    struct link waiting;
};

os_queue *os_queue_new(unsigned length, size_t item_size)
{
    os_queue *queue = os_allocate(sizeof *queue + length * item_size);

    if (queue == NULL)
        return NULL;
    queue->begin = queue->write = queue->read = (uint8_t *)(queue + 1);
    queue->end = queue->begin + length * item_size;
    queue->length = length;
    queue->count = 0;
    queue->item_size = item_size;
    link_begin(&queue->senders);
    link_begin(&queue->receivers);
    return queue;
}

static void copy_in(os_queue *queue, const void *item)
{
    memcpy(queue->write, item, queue->item_size);
    queue->write += queue->item_size;
    if (queue->write >= queue->end)
        queue->write = queue->begin;
    ++queue->count;
}

static void copy_out(os_queue *queue, void *item)
{
    memcpy(item, queue->read, queue->item_size);
    queue->read += queue->item_size;
    if (queue->read >= queue->end)
        queue->read = queue->begin;
    --queue->count;
}

os_status os_queue_send(os_queue *queue, const void *item, uint32_t ticks)
{
    for (;;) {
        os_enter_critical();
        if (queue->count < queue->length) {
            copy_in(queue, item);
            os_wake_first(&queue->receivers);
            os_leave_critical();
            return OS_OK;
        }
        if (ticks == 0) {
            os_leave_critical();
            return OS_FULL;
        }
        os_wait(&queue->senders, ticks);
        os_leave_critical();
        if (os_current->timed_out)
            return OS_TIMED_OUT;
    }
}

os_status os_queue_receive(os_queue *queue, void *item, uint32_t ticks)
{
    for (;;) {
        os_enter_critical();
        if (queue->count > 0) {
            copy_out(queue, item);
            os_wake_first(&queue->senders);
            os_leave_critical();
            return OS_OK;
        }
        if (ticks == 0) {
            os_leave_critical();
            return OS_TIMED_OUT;
        }
        os_wait(&queue->receivers, ticks);
        os_leave_critical();
        if (os_current->timed_out)
            return OS_TIMED_OUT;
    }
}

os_mutex *os_mutex_new(void)
{
    os_mutex *mutex = os_allocate(sizeof *mutex);

    if (mutex != NULL) {
        mutex->owner = NULL;
        mutex->depth = 0;
        link_begin(&mutex->waiting);
    }
    return mutex;
}

os_status os_mutex_take(os_mutex *mutex, uint32_t ticks)
{
    os_enter_critical();
    while (mutex->owner != NULL && mutex->owner != os_current) {
        if (mutex->owner->priority < os_current->priority)
            os_set_priority(mutex->owner, os_current->priority);
        os_wait(&mutex->waiting, ticks);
        os_leave_critical();
        if (os_current->timed_out)
            return OS_TIMED_OUT;
        os_enter_critical();
    }
    if (mutex->depth++ == 0) {
        mutex->owner = os_current;
        ++os_current->mutexes;
    }
    os_leave_critical();
    return OS_OK;
}

void os_mutex_give(os_mutex *mutex)
{
    os_enter_critical();
    if (mutex->owner != os_current)
        failed(202);
    if (--mutex->depth == 0) {
        mutex->owner = NULL;
        if (--os_current->mutexes == 0 && os_current->priority != os_current->own_priority) {
            os_set_priority(os_current, os_current->own_priority);
            os_port_pend();
        }
        os_wake_first(&mutex->waiting);
    }
    os_leave_critical();
}
