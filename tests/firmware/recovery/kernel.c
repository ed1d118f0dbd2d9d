/* Tasks on stacks of their own: SysTick preempts, PendSV saves and restores, a queue and a lock between them. */

#define TASKS           4
#define STACK_WORDS     160
#include "threads.h"

#define QUEUE           8
#ifdef __OPTIMIZE__
#define ITEMS           330
#else
#define ITEMS           150
#endif

static volatile int32_t queue[QUEUE];
static volatile unsigned queued, taken, sum_lock;
static int64_t total;
static volatile uint32_t squares, smallest = ~0u;

static bool put(int32_t value)
{
    uint32_t primask = lock();
    bool room = queued - taken < QUEUE;

    if (room)
        queue[queued++ % QUEUE] = value;
    unlock(primask);
    return room;
}

static bool get(int32_t *value)
{
    uint32_t primask = lock();
    bool some = queued != taken;

    if (some)
        *value = queue[taken++ % QUEUE];
    unlock(primask);
    return some;
}

static void produce(void)
{
    for (;;) {
        int32_t value = (int32_t)(SAMPLE(1) & 0xFFFF) - 0x8000;
        while (!put(value))
            sleep(1);
        if ((value & 7) == 0)
            yield();
    }
}

static void consume(void)
{
    unsigned items = 0;
    int32_t value, window[4];

    window[0] = window[1] = window[2] = window[3] = 0;
    while (items < ITEMS) {
        if (!get(&value)) {
            yield();
            continue;
        }
        window[items++ & 3] = value;
        total += (int64_t)window[0] * window[1] - (int64_t)window[2] * window[3];
    }
    lock();
    if (squares == 0 || total == 0)
        failed(2);
    finished();
}

static void count_squares(void)
{
    for (uint32_t n = 1;; ++n) {
        uint32_t root = 0;
        for (uint32_t bit = 1u << 8; bit; bit >>= 1)
            if ((root + bit) * (root + bit) <= n * 3)
                root += bit;
        if (root * root == n * 3 || n % 37 == 0)
            ++squares;
        if (n % 64 == 0)
            sleep(2);
    }
}

static uint32_t fold(uint32_t depth, uint32_t value)
{
    return depth == 0 ? value : fold(depth - 1, value * 17 + depth) ^ depth << 3;
}

static void fold_for_ever(void)
{
    for (uint32_t n = 0;; ++n) {
        uint32_t value = fold(n & 7, n);
        if (value < smallest)
            smallest = value;
    }
}

unsigned run(void)
{
    static void (*const entries[TASKS])(void) = { produce, consume, count_squares, fold_for_ever };

    SCB_SHPR3 = 0xE0E00000;
    for (unsigned i = 0; i < TASKS; ++i) {
        make(&tasks[i], entries[i]);
        tasks[i].next = &tasks[(i + 1) % TASKS];
    }
    current = &tasks[0];
    SYST_RVR = 900;
    SYST_CVR = 0;
    SYST_CSR = 7;
    __asm volatile("svc 0" ::: "memory");
    return 1;
}
