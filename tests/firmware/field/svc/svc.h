/* A kernel for threads without privilege: they ask by SVC, and get results through the frame that they left. */

#ifndef SVC_H
#define SVC_H

#include "../lib.h"

#define SVC_FOREVER     0xFFFFFFFFu

enum svc_result { SVC_OK = 0, SVC_TIMEOUT = -1, SVC_RESOURCE = -2, SVC_PARAMETER = -3 };

typedef struct svc_thread svc_thread;
typedef struct svc_mailbox svc_mailbox;
typedef struct svc_lock svc_lock;
typedef struct svc_flags svc_flags;

struct svc_thread_options {
    const char *name;
    uint8_t priority;
    bool privileged;
    uint32_t *stack;
    unsigned words;
};

/* Before the threads run. */
svc_thread *svc_thread_new(void (*entry)(void *), void *argument, const struct svc_thread_options *options);
svc_mailbox *svc_mailbox_new(unsigned length, unsigned letter_size, void *area, unsigned area_size);
svc_lock *svc_lock_new(void);
svc_flags *svc_flags_new(void);
void svc_run(void);

/* From handlers: done when no other handler is active any more. */
void svc_flags_set_later(svc_flags *flags, uint32_t bits);

int32_t svc_delay(uint32_t ticks);
int32_t svc_yield(void);
uint32_t svc_ticks(void);
int32_t svc_send(svc_mailbox *box, const void *letter, uint32_t ticks);
int32_t svc_receive(svc_mailbox *box, void *letter, uint32_t ticks);
int32_t svc_lock_take(svc_lock *lock, uint32_t ticks);
int32_t svc_lock_give(svc_lock *lock);
int32_t svc_flags_set(svc_flags *flags, uint32_t bits);
uint32_t svc_flags_wait(svc_flags *flags, uint32_t bits, uint32_t ticks);
int32_t svc_stop(void);

#endif
