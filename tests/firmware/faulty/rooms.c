/* Two threads of a small kernel: one measures, the other writes reports.  SysTick switches. */

#include "board/lib.h"

#define STACK_WORDS     96

struct thread {
    uint32_t *sp;
    uint32_t runs;
    const char *name;
};

static uint32_t stacks[2][STACK_WORDS] __attribute__((aligned(8)));
static struct thread threads[2];
__attribute__((used)) static struct thread *current;
static volatile uint32_t samples, level = 500;

void SysTick_Handler(void)
{
    SCB_ICSR = ICSR_PENDSVSET;
}

__attribute__((used)) static uint32_t *next_thread(uint32_t *sp)
{
    current->sp = sp;
    current = current == &threads[0] ? &threads[1] : &threads[0];
    ++current->runs;
    return current->sp;
}

__attribute__((naked)) void PendSV_Handler(void)
{
    __asm volatile(
        "mrs    r0, psp\n\t"
        "stmdb  r0!, {r4-r11, lr}\n\t"
        "bl     next_thread\n\t"
        "ldmia  r0!, {r4-r11, lr}\n\t"
        "msr    psp, r0\n\t"
        "bx     lr");
}

static NOINLINE uint32_t smooth(uint32_t before, uint32_t sample)
{
    return (before * 7 + sample) / 8;
}

static void measuring(void)
{
    for (;;) {
        uint32_t sample = 400 + (samples * 53 & 0xFF);
        level = smooth(level, sample);
        ++samples;
    }
}

static NOINLINE unsigned digits(char *to, uint32_t number)
{
    unsigned count = 0;

    if (number >= 10)
        count = digits(to, number / 10);
    to[count] = (char)('0' + number % 10);
    return count + 1;
}

static NOINLINE void long_report(uint32_t number)
{                                       /* CULPRIT */
    char text[288];
    unsigned at = 0;

    for (unsigned i = 0; i < 24; ++i) {
        at += digits(text + at, number * 1000 + i);     /* CULPRIT */
        text[at++] = i % 8 == 7 ? '\n' : ',';           /* CULPRIT */
    }
    text[at] = 0;
    put_text(text);
}

static NOINLINE void short_report(uint32_t number)
{
    char text[12];

    text[digits(text, number)] = 0;
    put_text(text);
}

static void reporting(void)
{
    for (uint32_t number = 1;; ++number) {
        short_report(level);
        if (number % 40 == 0)
            long_report(number);
    }
}

static void make(struct thread *thread, const char *name, uint32_t *stack, void (*body)(void))
{
    uint32_t *sp = stack + STACK_WORDS - 17;

    sp[8] = return_to_thread();
    sp[15] = (uint32_t)body;
    sp[16] = 1u << 24;
    thread->sp = sp;
    thread->name = name;
}

int main(void)
{
    make(&threads[0], "measuring", stacks[0], measuring);
    make(&threads[1], "reporting", stacks[1], reporting);
    SCB_SHPR3 = 0xFFu << 16;
    current = &threads[0];
    __asm volatile("msr psp, %0\n\tmov r0, #2\n\tmsr control, r0\n\tisb" :: "r"(stacks[0] + STACK_WORDS) : "r0");
    systick_start(331);
    measuring();
    return 0;
}
