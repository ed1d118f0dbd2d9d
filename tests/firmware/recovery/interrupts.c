/* SysTick with timers, a receiver's interrupt, one that another pends, critical sections by PRIMASK and BASEPRI. */

#include "inputs.h"

#define UART_DATA       REG(0x40004000)
#define UART_STATUS     REG(0x40004004)
#define UART_CTRL       REG(0x40004008)
#define UART_PERIOD     REG(0x4000400C)
#define TIMERS          4
#define RING            32
#define SENTENCES       26

struct timer {
    struct timer *next;
    uint32_t due, period;
    void (*expired)(struct timer *timer);
    unsigned count;
};

static volatile uint32_t ticks;
static struct timer timers[TIMERS], *first_timer;
static volatile uint8_t ring[RING];
static volatile unsigned head, tail, lost, deferred;
static volatile uint32_t shared[4];
static unsigned sentences, commas, digits;
static int32_t last_value, total;

static void insert(struct timer *timer)
{
    struct timer **place = &first_timer;

    while (*place && (int32_t)((*place)->due - timer->due) <= 0)
        place = &(*place)->next;
    timer->next = *place;
    *place = timer;
}

void SysTick_Handler(void)
{
    ++ticks;
    while (first_timer && (int32_t)(first_timer->due - ticks) <= 0) {
        struct timer *timer = first_timer;
        first_timer = timer->next;
        timer->due += timer->period;
        timer->expired(timer);
        insert(timer);
    }
}

/* The receiver: above SysTick. */
void IRQ0_Handler(void)
{
    uint8_t byte = UART_DATA;
    unsigned next = (head + 1) % RING;

    if (next == tail) {
        ++lost;
        return;
    }
    ring[head] = byte;
    head = next;
    if (byte == '\n')
        NVIC_ISPR0 = 1u << 1;
}

/* Deferred work: below everything. */
void IRQ1_Handler(void)
{
    ++deferred;
    for (unsigned i = 0; i < COUNT(shared); ++i)
        shared[i] += i + deferred;
}

static void count(struct timer *timer)
{
    ++timer->count;
}

static void stir(struct timer *timer)
{
    timer->count = timer->count * 5 + SAMPLE(0);
    shared[timer->count % COUNT(shared)] ^= timer->count;
}

static int get(void)
{
    int byte = -1;

    __asm volatile("cpsid i" ::: "memory");
    if (tail != head) {
        byte = ring[tail];
        tail = (tail + 1) % RING;
    }
    __asm volatile("cpsie i" ::: "memory");
    return byte;
}

static uint32_t mix(void)
{
    uint32_t sum = 0;

    __asm volatile("msr basepri, %0" :: "r"(0x60) : "memory");
    for (unsigned i = 0; i < COUNT(shared); ++i)
        sum = sum * 31 + shared[i];
    __asm volatile("msr basepri, %0" :: "r"(0) : "memory");
    return sum;
}

static __attribute__((noinline)) void take(uint8_t byte)
{
    if (byte == '\n') {
        ++sentences;
        total += last_value;
        last_value = 0;
    } else if (byte == ',') {
        ++commas;
    } else if (byte >= '0' && byte <= '9') {
        ++digits;
        last_value = last_value * 10 + byte - '0';
    }
}

unsigned run(void)
{
    uint32_t sum = 0;

    SCB_SHPR3 = 0x80u << 24;
    NVIC_IPR0 = 0x0000C040;
    NVIC_ISER0 = 3;
    for (unsigned i = 0; i < TIMERS; ++i) {
        timers[i].period = timers[i].due = i + 2;
        timers[i].expired = i & 1 ? stir : count;
        insert(&timers[i]);
    }
    UART_PERIOD = 300;
    UART_CTRL = 1;
    SYST_RVR = 700;
    SYST_CVR = 0;
    SYST_CSR = 7;
    while (sentences < SENTENCES) {
        int byte = get();
        if (byte >= 0)
            take(byte);
        else
            sum ^= mix();
    }
    SYST_CSR = 0;
    UART_CTRL = 0;
    return timers[0].count > 4 && deferred > 4 && digits > 20 && total != 0 && sum != 1 ? 0 : 1;
}
