/* Unprivileged threads that ask a kernel by SVC, wait inside it, and get results through the frame they left. */

#include "inputs.h"
#include "limits.h"

#define THREADS         5
#define STACK_WORDS     160
#define BOX             4
#ifdef __OPTIMIZE__
#define LETTERS         460
#else
#define LETTERS         200
#endif

#define LATE            0xFFFFFFFEu
#define CARRY           (1u << 29)

enum state { READY, SENDS, RECEIVES, SLEEPS };
enum frame { R0, R1, R2, R3, R12, LR, PC, XPSR };

struct thread {
    uint32_t *stack;            /* where r4 to r11 and EXC_RETURN are; the frame is above them */
    uint32_t *frame;
    enum state state;
    uint32_t wake, control;
    uint32_t words[STACK_WORDS] __attribute__((aligned(8)));
};

struct letter {
    uint32_t from, value;
};

/* The last one is what runs before there are threads. */
static struct thread threads[THREADS + 1], *volatile current, *volatile next;
static struct letter box[BOX];
static unsigned first, filled;
static volatile uint32_t ticks;
static uint32_t sums[THREADS];

static void wake(struct thread *thread, uint32_t result)
{
    thread->frame[R0] = result;
    thread->state = READY;
}

static void schedule(void)
{
    struct thread *thread = current;

    do
        thread = thread + 1 < threads + THREADS ? thread + 1 : threads;
    while (thread->state != READY);
    next = thread;
}

static void wait(enum state state, uint32_t time)
{
    current->state = state;
    current->wake = ticks + time;
    schedule();
}

static struct thread *waiting(enum state state)
{
    for (unsigned i = 0; i < THREADS; ++i)
        if (threads[i].state == state)
            return &threads[i];
    return 0;
}

static void deliver(struct thread *thread, uint32_t from, uint32_t value)
{
    wake(thread, value);
    thread->frame[R1] = from;
    thread->frame[XPSR] |= CARRY;
}

/* A thread that has waited too long goes on an instruction later. */
static void give_up(struct thread *thread)
{
    bool sleeps = thread->state == SLEEPS;

    wake(thread, sleeps ? ticks : LATE);
    if (!sleeps)
        thread->frame[PC] += 2;
}

static void put(uint32_t from, uint32_t value)
{
    box[(first + filled++) % BOX] = (struct letter){ from, value };
}

/* The requests: what the calling thread has in r0 to r3 is in its frame, and so is what it gets. */

static void do_send(uint32_t *frame)
{
    struct thread *reader = waiting(RECEIVES);

    if (reader) {
        deliver(reader, current - threads, frame[R0]);
        frame[R0] = filled;
    } else if (filled < BOX) {
        put(current - threads, frame[R0]);
        frame[R0] = filled;
    } else {
        wait(SENDS, frame[R1]);
    }
}

static void do_receive(uint32_t *frame)
{
    struct thread *writer = waiting(SENDS);

    if (filled == 0) {
        wait(RECEIVES, frame[R0]);
        return;
    }
    frame[R0] = box[first].value;
    frame[R1] = box[first].from;
    frame[XPSR] &= ~CARRY;
    first = (first + 1) % BOX;
    --filled;
    if (writer) {
        put(writer - threads, writer->frame[R0]);
        wake(writer, BOX);
    }
}

static void do_sleep(uint32_t *frame)
{
    wait(SLEEPS, frame[R0]);
}

/* Has its result left by PendSV, which follows without a return in between. */
static void do_count(uint32_t *frame)
{
    frame[R12] = ticks;
    SCB_ICSR = ICSR_PENDSVSET;
}

static void do_stop(uint32_t *frame)
{
    (void)frame;
    for (unsigned i = 0; i < THREADS; ++i)
        if (sums[i] == 0)
            failed(2 + i);
    finished();
}

__attribute__((used)) void serve(uint32_t *frame)
{
    static void (*const requests[])(uint32_t *) = { do_send, do_receive, do_sleep, do_count, do_stop };
    unsigned number = ((const uint8_t *)frame[PC])[-2];

    current->frame = frame;
    if (number >= COUNT(requests))
        failed(8);
    requests[number](frame);
}

__attribute__((used)) uint32_t *change(uint32_t *stack)
{
    static bool begun;

    current->stack = stack;
    for (unsigned i = 0; !begun && i < THREADS; ++i)
        threads[i].stack[8] = stack[8];
    begun = true;
    current = next;
    set_process_limit((uint32_t)current->words);
    __asm volatile("msr control, %0" :: "r"(current->control));
    return current->stack;
}

/* Goes back to the thread that asked, or to the next one. */
__attribute__((naked)) void SVC_Handler(void)
{
    __asm volatile(
        "mrs    r0, psp\n\t"
        "push   {r4, lr}\n\t"
        "bl     serve\n\t"
        "pop    {r4, lr}\n\t"
        "b      leave_handler");
}

/* Ends the time of a thread, or answers what it has asked for. */
__attribute__((used)) void answer(uint32_t *frame)
{
    if (frame[R3] == 0xC0DE)
        frame[R0] = frame[R0] * 3 + frame[R12];
    else if (frame[R3] == 0xA5C)
        frame[R0] = ticks;
    else
        schedule();
    frame[R3] = ticks & 7;
}

__attribute__((used)) void preempt(uint32_t *frame)
{
    current->frame = frame;
    ++ticks;
    for (unsigned i = 0; i < THREADS; ++i)
        if (threads[i].state != READY && (int32_t)(threads[i].wake - ticks) <= 0)
            give_up(&threads[i]);
    schedule();
}

__attribute__((naked)) void PendSV_Handler(void)
{
    __asm volatile(
        "mrs    r0, psp\n\t"
        "push   {r4, lr}\n\t"
        "bl     answer\n\t"
        "pop    {r4, lr}\n\t"
        "b      leave_handler");
}

__attribute__((naked)) void SysTick_Handler(void)
{
    __asm volatile(
        "mrs    r0, psp\n\t"
        "push   {r4, lr}\n\t"
        "bl     preempt\n\t"
        "pop    {r4, lr}\n"
        "leave_handler:\n\t"
        "ldr    r1, =current\n\t"
        "ldr    r2, =next\n\t"
        "ldr    r1, [r1]\n\t"
        "ldr    r2, [r2]\n\t"
        "cmp    r1, r2\n\t"
        "it     eq\n\t"
        "bxeq   lr\n\t"
        "mrs    r0, psp\n\t"
        "stmdb  r0!, {r4-r11, lr}\n\t"
        "bl     change\n\t"
        "ldmia  r0!, {r4-r11, lr}\n\t"
        "msr    psp, r0\n\t"
        "bx     lr");
}

static inline uint32_t send(uint32_t value, uint32_t time, bool *sent)
{
    register uint32_t r0 __asm("r0") = value;
    register uint32_t r1 __asm("r1") = time;
    uint32_t late = 1;

    __asm volatile("svc 0\n\tmovs %1, #0" : "+r"(r0), "+l"(late) : "r"(r1) : "cc", "memory");
    *sent = !late;
    return r0;
}

/* Whether the letter came straight from another thread is told by the carry. */
static inline uint32_t receive(uint32_t time, uint32_t *from, uint32_t *direct)
{
    register uint32_t r0 __asm("r0") = time;
    register uint32_t r1 __asm("r1");
    uint32_t carry = 0;

    __asm volatile("svc 1\n\tadc %2, %2, #0" : "+r"(r0), "=r"(r1), "+r"(carry) :: "cc", "memory");
    *from = r1;
    *direct = carry;
    return r0;
}

static inline uint32_t sleep(uint32_t time)
{
    register uint32_t r0 __asm("r0") = time;

    __asm volatile("svc 2" : "+r"(r0) :: "memory");
    return r0;
}

static inline uint32_t count(uint32_t value)
{
    register uint32_t r0 __asm("r0") = value;
    register uint32_t r3 __asm("r3") = 0xC0DE;

    __asm volatile("svc 3" : "+r"(r0), "+r"(r3) :: "r12", "memory");
    return r0 + r3;
}

/* For privileged threads: the same without an SVC. */
static inline uint32_t now(void)
{
    register uint32_t r0 __asm("r0") = 0;
    register uint32_t r3 __asm("r3") = 0xA5C;

    __asm volatile("str %2, [%3]\n\tdsb\n\tisb" : "+r"(r0), "+r"(r3) : "r"(ICSR_PENDSVSET), "r"(&SCB_ICSR) : "memory");
    return r0 * 8 + r3;
}

static __attribute__((noinline)) uint32_t mix(uint32_t sum, uint32_t value)
{
    for (unsigned i = 0; i < 3; ++i, value >>= 5)
        sum = (sum ^ (value & 31)) * 16777619;
    return sum;
}

/* What two threads run. */
static void measure(uint32_t channel)
{
    uint32_t level = 0, sent = 0;

    for (;;) {
        uint32_t sample = SAMPLE(channel) & 0xFFF;
        uint32_t before = level, result;
        bool done;

        level += (sample << 4) - (level >> 3);
        result = send(level, 2, &done);
        if (!done) {
            level = before;
            continue;
        }
        sums[channel] = mix(sums[channel], result + ++sent);
        if (sent % 8 == channel)
            sums[channel] ^= sleep(1 + channel) - result;
        if ((sample & 15) == 3)
            level ^= count(sent) & 1;
    }
}

static void fold_for_ever(uint32_t number)
{
    for (uint32_t n = 1;; ++n) {
        uint32_t value = mix(n, n * number);
        bool done;

        if (value & 1)
            value += count(value);
        sums[number] += value | 1;
        if (n % 16 == 0)
            send(value, 1, &done);
    }
}

/* Privileged. */
static void watch(uint32_t number)
{
    for (uint32_t since = 0;;) {
        uint32_t time = now();
        sums[number] += mix(time, time - since) | 1;
        since = time;
        sleep(3);
    }
}

static void collect(uint32_t number)
{
    unsigned letters = 0, late = 0;
    static uint32_t last[THREADS];

    while (letters < LETTERS) {
        uint32_t from, direct, value = receive(2, &from, &direct);

        if (value == LATE) {
            ++late;
            continue;
        }
        ++letters;
        last[from] = value - last[from] + direct;
        sums[number] = mix(sums[number], last[from] ^ late);
        OUTPUT(from & 3) = last[from];
    }
    __asm volatile("svc 4");
}

static void make(unsigned number, void (*entry)(uint32_t), uint32_t control)
{
    struct thread *thread = &threads[number];
    uint32_t *frame = thread->words + STACK_WORDS - 8;

    for (unsigned i = 1; i < 17; ++i)
        frame[8 - (int)i] = 0x01010101 * i;
    frame[R0] = number;
    frame[PC] = (uint32_t)entry & ~1u;
    frame[XPSR] = 1u << 24;
    thread->frame = frame;
    thread->stack = frame - 9;
    thread->control = control;
}

/* Becomes the last thread's end: from here on there are threads alone. */
static __attribute__((noinline)) void start(void)
{
    static uint32_t begin[64] __attribute__((aligned(8)));

    current = next = &threads[THREADS];
    current->state = SLEEPS;
    __asm volatile("msr psp, %0\n\tmsr control, %1\n\tisb" :: "r"(begin + COUNT(begin)), "r"(2) : "memory");
    SYST_RVR = 1400;
    SYST_CVR = 0;
    SYST_CSR = 7;
    for (;;)
        now();
}

unsigned run(void)
{
    static void (*const entries[THREADS])(uint32_t) = { measure, measure, fold_for_ever, watch, collect };

    SCB_SHPR2 = 0xE0000000;
    SCB_SHPR3 = 0xE0E00000;
    for (unsigned i = 0; i < THREADS; ++i)
        make(i, entries[i], entries[i] == watch ? 2 : 3);
    start();
    return 1;
}
