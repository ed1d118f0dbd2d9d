/* The executive: threads, time, semaphores, flags and a pool of bytes. */

#include "exec.h"

#define PRIORITIES      8
#define TICK            1000
#define EXC_RETURN      (__ARM_ARCH == 8 ? 0xFFFFFFBCu : 0xFFFFFFFDu)
#define POOL_TAKEN      0xFFFFFFFFu

struct exec_pool_block {
    struct exec_pool_block *next;
    uint32_t owner;             /* the next byte after a free one is its room */
};

exec_thread *volatile exec_current, *volatile exec_next;

static struct link ready[PRIORITIES], timers;
static uint32_t ready_map;
static volatile uint32_t time;
static volatile bool running;

#define LOCK()          uint32_t before; __asm volatile("mrs %0, primask\n\tcpsid i" : "=r"(before) :: "memory")
#define UNLOCK()        __asm volatile("msr primask, %0" :: "r"(before) : "memory")

static void choose(void)
{
    if (ready_map == 0)
        exec_next = NULL;
    else
        exec_next = CONTAINER(ready[__builtin_ctz(ready_map)].next, exec_thread, link);
}

/* Leaves what holds interrupts off; another thread runs now if one comes before. */
static void leave(uint32_t before)
{
    if (running && exec_next != exec_current)
        SCB_ICSR = ICSR_PENDSVSET;
    UNLOCK();
    barrier();
}

static void make_ready(exec_thread *thread)
{
    link_before(&thread->link, &ready[thread->priority]);
    ready_map |= 1u << thread->priority;
    choose();
}

static void suspend(exec_thread *thread, struct link *where, uint32_t ticks)
{
    link_remove(&thread->link);
    if (link_is_alone(&ready[thread->priority]))
        ready_map &= ~(1u << thread->priority);
    if (where != NULL)
        link_before(&thread->link, where);
    if (ticks != EXEC_FOREVER) {
        thread->timeout.left = ticks;
        link_before(&thread->timeout.link, &timers);
    }
    choose();
}

static void resume(exec_thread *thread, unsigned result)
{
    thread->result = (uint8_t)result;
    link_remove(&thread->link);
    link_remove(&thread->timeout.link);
    make_ready(thread);
}

static void timed_out(void *context)
{
    resume(context, 1);
}

__attribute__((used)) static void enter(exec_thread *thread)
{
    thread->entry(thread->argument);
    for (;;)
        exec_sleep(EXEC_FOREVER);
}

void exec_thread_begin(exec_thread *thread, void (*entry)(void *), void *argument, uint32_t *words, unsigned count,
                       unsigned priority, unsigned slice)
{
    uint32_t *frame = words + (count & ~1u) - 17;

    memset(thread, 0, sizeof *thread);
    memset(words, 0xEF, count * sizeof *words);
    frame[8] = EXC_RETURN;
    frame[9] = (uint32_t)thread;
    frame[14] = 0;
    frame[15] = (uint32_t)enter & ~1u;
    frame[16] = 1u << 24;
    thread->stack = frame;
    thread->begin = words;
    thread->entry = entry;
    thread->argument = argument;
    thread->priority = (uint8_t)priority;
    thread->slice = thread->slice_left = (uint8_t)slice;
    link_begin(&thread->link);
    exec_timer_begin(&thread->timeout, timed_out, thread, 0, 0);
    LOCK();
    make_ready(thread);
    leave(before);
}

void exec_begin(void)
{
    for (unsigned i = 0; i < PRIORITIES; ++i)
        link_begin(&ready[i]);
    link_begin(&timers);
}

uint32_t exec_time(void)
{
    return time;
}

void exec_sleep(uint32_t ticks)
{
    LOCK();
    suspend(exec_current, NULL, ticks);
    leave(before);
}

void exec_relinquish(void)
{
    LOCK();
    exec_thread *self = exec_current;
    link_remove(&self->link);
    link_before(&self->link, &ready[self->priority]);
    choose();
    leave(before);
}

void exec_semaphore_begin(struct exec_semaphore *semaphore, unsigned count)
{
    semaphore->count = count;
    link_begin(&semaphore->waiting);
}

bool exec_semaphore_get(struct exec_semaphore *semaphore, uint32_t ticks)
{
    LOCK();
    exec_thread *self = exec_current;
    self->result = 0;
    if (semaphore->count != 0)
        --semaphore->count;
    else if (ticks == 0)
        self->result = 1;
    else
        suspend(self, &semaphore->waiting, ticks);
    leave(before);
    return self->result == 0;
}

void exec_semaphore_put(struct exec_semaphore *semaphore)
{
    LOCK();
    if (link_is_alone(&semaphore->waiting))
        ++semaphore->count;
    else
        resume(CONTAINER(semaphore->waiting.next, exec_thread, link), 0);
    leave(before);
}

void exec_flags_begin(struct exec_flags *flags)
{
    flags->bits = 0;
    link_begin(&flags->waiting);
}

uint32_t exec_flags_get(struct exec_flags *flags, uint32_t wanted, uint32_t ticks)
{
    LOCK();
    exec_thread *self = exec_current;
    self->result = 0;
    self->got = flags->bits & wanted;
    if (self->got != 0) {
        flags->bits &= ~self->got;
    } else if (ticks != 0) {
        self->wanted = wanted;
        suspend(self, &flags->waiting, ticks);
    }
    leave(before);
    return self->result == 0 ? self->got : 0;
}

void exec_flags_set(struct exec_flags *flags, uint32_t bits)
{
    LOCK();
    flags->bits |= bits;
    for (struct link *link = flags->waiting.next, *next; link != &flags->waiting; link = next) {
        exec_thread *thread = CONTAINER(link, exec_thread, link);
        next = link->next;
        thread->got = flags->bits & thread->wanted;
        if (thread->got != 0) {
            flags->bits &= ~thread->got;
            resume(thread, 0);
        }
    }
    leave(before);
}

void exec_timer_begin(struct exec_timer *timer, exec_alarm alarm, void *context, uint32_t first, uint32_t again)
{
    timer->left = first;
    timer->again = again;
    timer->alarm = alarm;
    timer->context = context;
    link_begin(&timer->link);
    if (first != 0) {
        LOCK();
        link_before(&timer->link, &timers);
        leave(before);
    }
}

void SysTick_Handler(void)
{
    LOCK();
    ++time;
    for (struct link *link = timers.next, *next; link != &timers; link = next) {
        struct exec_timer *timer = CONTAINER(link, struct exec_timer, link);
        next = link->next;
        if (--timer->left != 0)
            continue;
        if (timer->again != 0)
            timer->left = timer->again;
        else
            link_remove(&timer->link);
        timer->alarm(timer->context);
    }
    exec_thread *self = exec_current;
    if (self != NULL && self->slice != 0 && --self->slice_left == 0) {
        self->slice_left = self->slice;
        if (ready[self->priority].next == &self->link) {
            link_remove(&self->link);
            link_before(&self->link, &ready[self->priority]);
            choose();
        }
    }
    leave(before);
}

/* Blocks in a ring; each ends where the next begins.  The last one is a mark that is always taken. */

void exec_pool_begin(struct exec_pool *pool, void *area, unsigned size)
{
    struct exec_pool_block *first = area, *last = (struct exec_pool_block *)((char *)area + size) - 1;

    first->next = last;
    first->owner = 0;
    last->next = first;
    last->owner = POOL_TAKEN;
    pool->first = first;
    pool->size = size;
    link_begin(&pool->waiting);
}

void *exec_pool_get(struct exec_pool *pool, unsigned size)
{
    struct exec_pool_block *block = pool->first, *found = NULL;

    size = (size + sizeof *block + 7) & ~7u;
    LOCK();
    do {
        unsigned room = (unsigned)((char *)block->next - (char *)block);
        if (block->owner == 0 && block->next->owner == 0 && block->next > block) {
            block->next = block->next->next;
            continue;
        }
        if (block->owner == 0 && block->next > block && room >= size) {
            found = block;
            break;
        }
        block = block->next;
    } while (block != pool->first);
    if (found != NULL) {
        struct exec_pool_block *rest = (struct exec_pool_block *)((char *)found + size);
        if ((unsigned)((char *)found->next - (char *)found) >= size + 2 * sizeof *rest) {
            rest->next = found->next;
            rest->owner = 0;
            found->next = rest;
        }
        found->owner = (uint32_t)pool;
    }
    leave(before);
    return found != NULL ? found + 1 : NULL;
}

void exec_pool_put(struct exec_pool *pool, void *pointer)
{
    struct exec_pool_block *block = (struct exec_pool_block *)pointer - 1;

    LOCK();
    if (block->owner != (uint32_t)pool)
        failed(220);
    block->owner = 0;
    leave(before);
}

/* Saves the thread that ran, unless none did, and waits until there is one that may. */
__attribute__((naked)) void PendSV_Handler(void)
{
    __asm volatile(
        "cpsid  i\n\t"
        "ldr    r0, =exec_current\n\t"
        "ldr    r2, =exec_next\n\t"
        "mov    r3, #0\n\t"
        "ldr    r1, [r0]\n\t"
        "cpsie  i\n\t"
        "cbz    r1, exec_wait\n\t"
        "str    r3, [r0]\n\t"
        "mrs    r12, psp\n\t"
        "stmdb  r12!, {r4-r11, lr}\n\t"
        "str    r12, [r1]\n"
        "exec_wait:\n\t"
        "cpsid  i\n\t"
        "ldr    r1, [r2]\n\t"
        "cbnz   r1, exec_go\n\t"
        "cpsie  i\n\t"
        "b      exec_wait\n"
        "exec_go:\n\t"
        "str    r1, [r0]\n\t"
        "cpsie  i\n\t"
        "ldr    r3, [r1, %0]\n\t"
        "adds   r3, #1\n\t"
        "str    r3, [r1, %0]\n\t"
        "ldr    r12, [r1]\n\t"
        "ldmia  r12!, {r4-r11, lr}\n\t"
        "msr    psp, r12\n\t"
        "bx     lr\n\t"
        ".ltorg"
        :: "i"(offsetof(exec_thread, runs)));
}

void exec_run(void)
{
    SCB_SHPR3 = 0x40F00000;
    SYST_RVR = TICK;
    SYST_CVR = 0;
    SYST_CSR = 7;
    running = true;
    SCB_ICSR = ICSR_PENDSVSET;
    barrier();
    failed(221);
}
