/* Jump tables (TBB, TBH), function pointers, tables of them, computed goto. */

#include "common.h"

static volatile unsigned trace[8];

/* Short cases, dense: TBB. */
static __attribute__((noinline)) unsigned small_switch(unsigned n)
{
    switch (n) {
    case 0: trace[0] += 1; return 3;
    case 1: trace[1] += n; return 1;
    case 2: trace[2] ^= n; return 4;
    case 3: trace[3] -= 1; return 1;
    case 4: trace[4] += 7; return 5;
    case 5: trace[5] |= n; return 9;
    case 6: trace[6] += 2; return 2;
    case 7: trace[7] += 3; return 6;
    default: return 0;
    }
}

/* The compiler reckons with the lines it sees, so they are written out. */
#define NOP5    "nop.w\n\tnop.w\n\tnop.w\n\tnop.w\n\tnop.w\n\t"
#define FILL(n) __asm volatile(NOP5 NOP5 NOP5 NOP5); trace[(n) & 7] += (n) * 3; break

/* Cases so long that the table needs half-words: TBH. */
static __attribute__((noinline)) unsigned large_switch(unsigned n)
{
    switch (n) {
    case 10: FILL(10);
    case 11: FILL(11);
    case 12: FILL(12);
    case 13: FILL(13);
    case 14: FILL(14);
    case 15: FILL(15);
    case 16: FILL(16);
    default: return 0;
    }
    return n;
}

static __attribute__((noinline)) int add(int a, int b) { return a + b; }
static __attribute__((noinline)) int subtract(int a, int b) { return a - b; }
static __attribute__((noinline)) int multiply(int a, int b) { return a * b; }
static __attribute__((noinline)) int divide(int a, int b) { return b ? a / b : 0; }

static int (*const operations[])(int, int) = { add, subtract, multiply, divide };

struct shape {
    int (*area)(const struct shape *);
    int (*edge)(const struct shape *);
    int width, height;
};

static int rectangle_area(const struct shape *s) { return multiply(s->width, s->height); }
static int rectangle_edge(const struct shape *s) { return 2 * add(s->width, s->height); }
static int triangle_area(const struct shape *s) { return divide(multiply(s->width, s->height), 2); }
static int triangle_edge(const struct shape *s) { return s->width + 2 * s->height; }

static const struct shape shapes[] = {
    { rectangle_area, rectangle_edge, 3, 4 },
    { triangle_area, triangle_edge, 6, 5 },
};

/* A byte-code machine by computed goto. */
static __attribute__((noinline)) int machine(const uint8_t *code)
{
    static const void *const labels[] = { &&push, &&plus, &&times, &&loop, &&stop };
    int stack[8], *top = stack, rounds = 3;
    const uint8_t *start = code;

    goto *labels[*code++];
push:
    *top++ = *code++;
    goto *labels[*code++];
plus:
    top[-2] += top[-1];
    --top;
    goto *labels[*code++];
times:
    top[-2] *= top[-1];
    --top;
    goto *labels[*code++];
loop:
    if (--rounds)
        code = start;
    goto *labels[*code++];
stop:
    return top[-1] + 100 * (top - stack);
}

unsigned run(void)
{
    unsigned sum = 0;
    int total = 0;

    for (unsigned round = 0; round < 3; ++round)
        for (unsigned n = 0; n < 10; ++n)
            sum = sum * 2 + small_switch((n * 7 + round) % 10);
    if (sum == 0)
        return 1;
    sum = 0;
    for (unsigned n = 9; n < 19; ++n)
        sum += large_switch(n);
    if (sum != 10 + 11 + 12 + 13 + 14 + 15 + 16)
        return 2;
    for (unsigned i = 0; i < 8; ++i)
        total = total * 2 + operations[i % 4](20 + i, i);
    if (total != ((((((20 * 2 + 20) * 2 + 44) * 2 + 7) * 2 + 28) * 2 + 20) * 2 + 156) * 2 + 3)
        return 3;
    total = 0;
    for (unsigned i = 0; i < 4; ++i)
        total += shapes[i & 1].area(&shapes[i & 1]) * 10 + shapes[i & 1].edge(&shapes[i & 1]);
    if (total != 2 * (12 * 10 + 14 + 15 * 10 + 16))
        return 4;
    static const uint8_t code[] = { 0, 5, 0, 6, 2, 0, 7, 1, 3, 4 };
    if (machine(code) != 37 + 300)
        return 5;
    return 0;
}
