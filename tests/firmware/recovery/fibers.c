/* Threads that a plain function switches.  A tick makes the one that runs call it, by a frame of its own on its stack. */

#include "inputs.h"
#include "limits.h"

#define FIBERS          4
#define STACK_WORDS     160
#define FRAME_WORDS     8
#define SLOTS           4
#define MASKED          0x40
#ifdef __OPTIMIZE__
#define REPORTS         220
#else
#define REPORTS         90
#endif

struct fiber {
    uint32_t *sp;
    uint32_t wake;
    uint32_t turns;
    uint32_t words[STACK_WORDS] __attribute__((aligned(8)));
};

struct report {
    uint16_t meter, count;
    int32_t mean, peak;
};

struct meter {
    uint16_t number;
    int16_t offset;
    int32_t level, peak;
    uint32_t reports;
};

static struct fiber fibers[FIBERS], *volatile current;
static struct meter meters[2] = { { .number = 0, .offset = 2048 }, { .number = 1, .offset = 1024 } };
static struct report box[SLOTS];
static volatile unsigned put, taken;
static volatile uint32_t ticks;
static int32_t sums[2];
static unsigned idle_turns;

static inline uint32_t lock(void)
{
    uint32_t before;
    __asm volatile("mrs %0, basepri\n\tmsr basepri, %1" : "=&r"(before) : "r"(MASKED) : "memory");
    return before;
}

static inline void unlock(uint32_t before)
{
    __asm volatile("msr basepri, %0" :: "r"(before) : "memory");
}

/* Keeps the registers on the old stack, and goes on where the other fiber did so. */
static __attribute__((naked, noinline)) void switch_fiber(struct fiber *from, struct fiber *to)
{
    (void)from, (void)to;
    __asm volatile("push {r4-r11, lr}\n\tstr sp, [r0]\n\tldr sp, [r1]\n\tpop {r4-r11, pc}");
}

static __attribute__((naked)) void begin(void)
{
    __asm volatile("movs r0, #0\n\tmsr basepri, r0\n\tmov r0, r5\n\tblx r4\n\tb .");
}

/* The next one that is ready; the last is always. */
static struct fiber *next_of(struct fiber *fiber)
{
    struct fiber *found = fiber;
    for (unsigned i = 0; i < FIBERS; ++i) {
        found = found == &fibers[FIBERS - 1] ? fibers : found + 1;
        if (found->wake <= ticks)
            return found;
    }
    return &fibers[FIBERS - 1];
}

static __attribute__((noinline)) void reschedule(void)
{
    struct fiber *from = current, *to = next_of(from);
    if (to == from)
        return;
    ++to->turns;
    current = to;
    switch_fiber(from, to);
}

static void yield(void)
{
    uint32_t before = lock();
    reschedule();
    unlock(before);
}

static void sleep(uint32_t count)
{
    uint32_t before = lock();
    current->wake = ticks + count;
    reschedule();
    unlock(before);
}

static __attribute__((naked)) void preempted(void)
{
    __asm volatile("bl reschedule\n\tsvc 0\n\tb .");
}

void SysTick_Handler(void)
{
    uint32_t *frame;

    ++ticks;
    if (next_of(current) == current)
        return;
    __asm volatile("mrs %0, psp" : "=r"(frame));
    frame -= FRAME_WORDS;
    frame[6] = (uint32_t)preempted & ~1u;
    frame[7] = 1u << 24;
    lock();
    __asm volatile("msr psp, %0" :: "r"(frame) : "memory");
}

/* Ends what the tick has made: its own frame goes, and the one below is left. */
__attribute__((naked)) void SVC_Handler(void)
{
    __asm volatile("mrs r0, psp\n\tadds r0, #32\n\tmsr psp, r0\n\tmovs r0, #0\n\tmsr basepri, r0\n\tbx lr");
}

static __attribute__((noinline)) int32_t follow(struct meter *meter, int32_t sample)
{
    meter->level += ((sample << 6) - meter->level) / 8;
    if (meter->level > meter->peak)
        meter->peak = meter->level;
    return meter->level >> 6;
}

static __attribute__((noinline)) void send(const struct report *report)
{
    while (put - taken == SLOTS)
        sleep(1);
    box[put % SLOTS] = *report;
    ++put;
}

/* What both meters run. */
static void measure(struct meter *meter)
{
    struct report report = { .meter = meter->number };

    for (;;) {
        int32_t sum = 0;
        for (unsigned i = 0; i < 12; ++i)
            sum += follow(meter, (int32_t)(SAMPLE(meter->number) & 0xFFF) - meter->offset);
        report.mean = sum / 12;
        report.peak = meter->peak;
        ++report.count;
        send(&report);
        ++meter->reports;
        if (report.count % 4 == 0)
            sleep(1 + meter->number);
        else
            yield();
    }
}

static void print(void *unused)
{
    unsigned count = 0;

    (void)unused;
    while (count < REPORTS) {
        struct report report;
        uint32_t before = lock();
        bool some = taken != put;
        if (some)
            report = box[taken++ % SLOTS];
        unlock(before);
        if (!some) {
            sleep(1);
            continue;
        }
        ++count;
        sums[report.meter] += report.mean;
        OUTPUT(report.meter) = report.mean + report.peak;
    }
    lock();
    if (!meters[0].reports || !meters[1].reports || put - taken > SLOTS)
        failed(2);
    finished();
}

static void idle(void *unused)
{
    (void)unused;
    for (;;) {
        ++idle_turns;
        yield();
    }
}

static void make(struct fiber *fiber, void (*function)(void *), void *argument)
{
    uint32_t *words = fiber->words + STACK_WORDS - 9;
    words[0] = (uint32_t)function;
    words[1] = (uint32_t)argument;
    words[8] = (uint32_t)begin;
    fiber->sp = words;
}

unsigned run(void)
{
    SCB_SHPR3 = 0xE0E00000;
    make(&fibers[0], (void (*)(void *))measure, &meters[0]);
    make(&fibers[1], (void (*)(void *))measure, &meters[1]);
    make(&fibers[2], print, 0);
    make(&fibers[3], idle, 0);
    current = &fibers[0];
    SYST_RVR = 900;
    SYST_CVR = 0;
    SYST_CSR = 7;
    /* The first one begins with PSP, and no way back. */
    __asm volatile("ldr r1, [%0]\n\tmsr psp, r1\n\tmovs r1, #2\n\tmsr control, r1\n\tisb\n\tpop {r4-r11, pc}" :: "r"(fibers));
    return 1;
}
