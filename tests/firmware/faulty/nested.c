/* A kernel's heap holds a thread's stack, and below it sinks for sums; the thread reads nested lists by recursion. */

#include "board/lib.h"

#define STACK_WORDS     96
#define LONGEST         32
#define SINKS           16

/* As a known kernel names them. */
struct block {
    uint32_t *pxTopOfStack;
    uint32_t *pxStack;
    char pcTaskName[8];
};

struct sink {
    uint32_t *total, count;
};

struct block *volatile pxCurrentTCB;
static uint64_t heap[256];
static unsigned taken;
static struct sink *sinks;
static uint32_t totals[SINKS];

static NOINLINE void *take(unsigned size)
{
    void *at = &heap[taken];

    taken += (size + 7) / 8;
    return at;
}

/* The sum of a list such as "(1(23)4)". */
static NOINLINE uint32_t sum_of(const char **text)
{
    uint32_t found[8] = { 0 }, sum = 0;         /* CULPRIT */

    while (**text != ')' && **text != 0) {      /* CULPRIT */
        char letter = *(*text)++;

        if (letter == '(')
            found[sum & 7] += sum_of(text);     /* CULPRIT */
        else
            found[letter & 7] += (uint32_t)(letter - '0');
    }
    if (**text == ')')
        ++*text;
    for (unsigned i = 0; i < 8; ++i)
        sum += found[i];
    return sum;
}

static NOINLINE void read_lists(void)
{
    static char list[LONGEST];

    for (unsigned deep = 1;; ++deep) {
        unsigned depth = deep % 9 != 8 ? deep % 4 : 9;
        const char *text = list;

        for (unsigned i = 0; i < LONGEST - 1; ++i)
            list[i] = i < depth ? '(' : i < depth + 9 ? (char)('1' + i % 8) : ')';
        uint32_t sum = sum_of(&text);

        for (unsigned i = 0; i < SINKS; ++i)
            *sinks[i].total += sum;             /* FAULTS */
    }
}

int main(void)
{
    (void)take(1024);
    sinks = take(SINKS * sizeof *sinks);
    for (unsigned i = 0; i < SINKS; ++i)
        sinks[i].total = &totals[i];
    uint32_t *stack = take(4 * STACK_WORDS);
    struct block *block = take(sizeof *block);
    block->pxStack = stack;
    block->pcTaskName[0] = 'l';
    pxCurrentTCB = block;
    __asm volatile("msr psp, %0\n\tmov r0, #2\n\tmsr control, r0\n\tisb\n\tblx %1"
                   :: "r"(stack + STACK_WORDS), "r"(read_lists) : "r0", "r1", "r2", "r3", "r12", "lr", "memory");
    return 0;
}
