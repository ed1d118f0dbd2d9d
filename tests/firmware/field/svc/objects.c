/* Mailboxes of letters from a pool, locks with inheritance of priority, and flags. */

#include "internal.h"

svc_mailbox *svc_mailbox_new(unsigned length, unsigned letter_size, void *area, unsigned area_size)
{
    svc_mailbox *box = svc_object(MAILBOX, sizeof *box);
    unsigned size = (sizeof(struct letter) + letter_size + 3) & ~3u;

    if (length * size > area_size)
        failed(212);
    box->letter_size = letter_size;
    box->last = &box->first;
    for (unsigned i = 0; i < length; ++i) {
        struct letter *letter = (struct letter *)((char *)area + i * size);
        letter->next = box->free;
        box->free = letter;
    }
    return box;
}

static void put(svc_mailbox *box, const void *content)
{
    struct letter *letter = box->free;

    box->free = letter->next;
    letter->next = NULL;
    memcpy(letter->content, content, box->letter_size);
    *box->last = letter;
    box->last = &letter->next;
    ++box->object.count;
}

static void take(svc_mailbox *box, void *content)
{
    struct letter *letter = box->first;

    memcpy(content, letter->content, box->letter_size);
    box->first = letter->next;
    if (box->first == NULL)
        box->last = &box->first;
    letter->next = box->free;
    box->free = letter;
    --box->object.count;
}

static uint32_t do_send(uint32_t object, uint32_t content, uint32_t ticks, uint32_t d)
{
    svc_mailbox *box = (svc_mailbox *)object;
    svc_thread *reader = box->object.waiting;

    (void)d;
    if (box->object.kind != MAILBOX)
        return (uint32_t)SVC_PARAMETER;
    if (reader != NULL && box->first == NULL && box->free != NULL) {
        /* Straight into the place of the one that waits. */
        memcpy((void *)svc_frame(reader)[R1], (const void *)content, box->letter_size);
        svc_resume(reader, SVC_OK, true);
        return SVC_OK;
    }
    if (box->free != NULL) {
        put(box, (const void *)content);
        return SVC_OK;
    }
    svc_wait(WAITS, &box->object, ticks);
    return (uint32_t)(ticks ? SVC_TIMEOUT : SVC_RESOURCE);
}

static uint32_t do_receive(uint32_t object, uint32_t content, uint32_t ticks, uint32_t d)
{
    svc_mailbox *box = (svc_mailbox *)object;

    (void)d;
    if (box->object.kind != MAILBOX)
        return (uint32_t)SVC_PARAMETER;
    if (box->first != NULL) {
        svc_thread *writer = box->object.waiting;
        take(box, (void *)content);
        if (writer != NULL) {
            put(box, (const void *)svc_frame(writer)[R1]);
            svc_resume(writer, SVC_OK, true);
        }
        return SVC_OK;
    }
    svc_wait(WAITS, &box->object, ticks);
    return (uint32_t)(ticks ? SVC_TIMEOUT : SVC_RESOURCE);
}

svc_lock *svc_lock_new(void)
{
    return svc_object(LOCK, sizeof(svc_lock));
}

static void own(svc_lock *lock, svc_thread *thread)
{
    lock->owner = thread;
    lock->object.count = 1;
    lock->next = thread->locks;
    thread->locks = lock;
}

static uint32_t do_lock(uint32_t object, uint32_t ticks, uint32_t c, uint32_t d)
{
    svc_lock *lock = (svc_lock *)object;
    svc_thread *self = kernel.run.now;

    (void)c, (void)d;
    if (lock->owner == NULL) {
        own(lock, self);
        return SVC_OK;
    }
    if (lock->owner == self) {
        ++lock->object.count;
        return SVC_OK;
    }
    if (ticks != 0 && lock->owner->priority < self->priority)
        svc_reorder(lock->owner, self->priority);
    return (uint32_t)(svc_wait(WAITS, &lock->object, ticks) ? SVC_TIMEOUT : SVC_RESOURCE);
}

static int highest_of(const svc_thread *thread)
{
    int priority = thread->own_priority;

    for (const svc_lock *lock = thread->locks; lock != NULL; lock = lock->next)
        if (lock->object.waiting != NULL && lock->object.waiting->priority > priority)
            priority = lock->object.waiting->priority;
    return priority;
}

static uint32_t do_unlock(uint32_t object, uint32_t b, uint32_t c, uint32_t d)
{
    svc_lock *lock = (svc_lock *)object, **place = &kernel.run.now->locks;
    svc_thread *self = kernel.run.now, *heir = lock->object.waiting;

    (void)b, (void)c, (void)d;
    if (lock->owner != self)
        return (uint32_t)SVC_RESOURCE;
    if (--lock->object.count != 0)
        return SVC_OK;
    while (*place != lock)
        place = &(*place)->next;
    *place = lock->next;
    lock->owner = NULL;
    self->priority = (int8_t)highest_of(self);
    if (heir != NULL) {
        svc_resume(heir, SVC_OK, false);
        own(lock, heir);
    }
    svc_dispatch(NULL);
    return SVC_OK;
}

svc_flags *svc_flags_new(void)
{
    return svc_object(FLAGS, sizeof(svc_flags));
}

void svc_wake_for_flags(svc_flags *flags)
{
    svc_thread *next;

    for (svc_thread *thread = flags->object.waiting; thread != NULL; thread = next) {
        uint32_t met = flags->bits & thread->wanted;
        next = thread->next;
        if (met != 0) {
            flags->bits &= ~met;
            svc_resume(thread, met, false);
        }
    }
    svc_dispatch(NULL);
}

static uint32_t do_set(uint32_t object, uint32_t bits, uint32_t c, uint32_t d)
{
    svc_flags *flags = (svc_flags *)object;

    (void)c, (void)d;
    flags->bits |= bits;
    svc_wake_for_flags(flags);
    return flags->bits;
}

static uint32_t do_wait(uint32_t object, uint32_t bits, uint32_t ticks, uint32_t d)
{
    svc_flags *flags = (svc_flags *)object;
    uint32_t met = flags->bits & bits;

    (void)d;
    if (met != 0) {
        flags->bits &= ~met;
        return met;
    }
    kernel.run.now->wanted = bits;
    svc_wait(WAITS, &flags->object, ticks);
    return (uint32_t)SVC_TIMEOUT;
}

void svc_flags_set_later(svc_flags *flags, uint32_t bits)
{
    flags->later |= bits;
    if (flags->posted == NULL && kernel.posted != flags) {
        flags->posted = kernel.posted;
        kernel.posted = flags;
    }
    SCB_ICSR = ICSR_PENDSVSET;
}

__attribute__((used)) void svc_process_posted(void)
{
    while (kernel.posted != NULL) {
        svc_flags *flags = kernel.posted;
        kernel.posted = flags->posted;
        flags->posted = NULL;
        flags->bits |= flags->later;
        flags->later = 0;
        svc_wake_for_flags(flags);
    }
}

int32_t svc_send(svc_mailbox *box, const void *letter, uint32_t ticks)
{
    return (int32_t)svc_call(do_send, (uint32_t)box, (uint32_t)letter, ticks);
}

int32_t svc_receive(svc_mailbox *box, void *letter, uint32_t ticks)
{
    return (int32_t)svc_call(do_receive, (uint32_t)box, (uint32_t)letter, ticks);
}

int32_t svc_lock_take(svc_lock *lock, uint32_t ticks)
{
    return (int32_t)svc_call(do_lock, (uint32_t)lock, ticks, 0);
}

int32_t svc_lock_give(svc_lock *lock)
{
    return (int32_t)svc_call(do_unlock, (uint32_t)lock, 0, 0);
}

int32_t svc_flags_set(svc_flags *flags, uint32_t bits)
{
    return (int32_t)svc_call(do_set, (uint32_t)flags, bits, 0);
}

uint32_t svc_flags_wait(svc_flags *flags, uint32_t bits, uint32_t ticks)
{
    return svc_call(do_wait, (uint32_t)flags, bits, ticks);
}
