/* What makes stepping by line hard: inlining, recursion, tail calls, loops on one line, setjmp and longjmp. */

#include "common.h"

typedef uint32_t jump_buffer[10];

int setjmp(jump_buffer buffer) __attribute__((returns_twice));
void longjmp(jump_buffer buffer, int value);

__attribute__((naked)) int setjmp(jump_buffer buffer __attribute__((unused)))
{
    __asm volatile(
        "mov    r12, sp\n\t"
        "stmia  r0!, {r4-r11}\n\t"
        "stmia  r0!, {r12, lr}\n\t"
        "movs   r0, #0\n\t"
        "bx     lr");
}

__attribute__((naked)) void longjmp(jump_buffer buffer __attribute__((unused)), int value __attribute__((unused)))
{
    __asm volatile(
        "ldmia  r0!, {r4-r11}\n\t"
        "ldmia  r0!, {r12, lr}\n\t"
        "mov    sp, r12\n\t"
        "mov    r0, r1\n\t"
        "bx     lr");
}

static volatile unsigned noted, sums[4];
static jump_buffer back;

static __attribute__((noinline)) unsigned leaf(unsigned n)
{
    noted = n;
    return n + 1;
}

static __attribute__((noinline)) unsigned tail(unsigned n)
{
    noted = 2;
    return leaf(n + 5);
}

/* Inlined in "outer", which is inlined in "mixed". */
static inline __attribute__((always_inline)) unsigned inner(unsigned n)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < n; ++i)
        sum += noted + i;
    sums[n & 3] = sum;
    return leaf(sum);
}

static inline __attribute__((always_inline)) unsigned outer(unsigned n)
{
    noted = n;
    n += inner(n) + inner(n + 1);
    noted = n;
    return n;
}

static __attribute__((noinline)) unsigned mixed(unsigned n)
{
    unsigned result = outer(n);

    sums[0] = result;
    if (n > 1)
        result += outer(n - 1);
    sums[1] = result;
    return tail(result);
}

static __attribute__((noinline)) unsigned deep(unsigned n)
{
    if (n == 0)
        return leaf(1);
    unsigned below = deep(n - 1);
    noted = n;
    return below + n;
}

static __attribute__((noinline)) unsigned count(unsigned n)
{
    while (n--) noted += n;
    do { ++noted; } while (noted & 7);
    return noted;
}

static __attribute__((noinline)) void sink(unsigned n)
{
    if (n == 0)
        longjmp(back, 3);
    else
        sink(n - 1);
    noted = n;
}

static __attribute__((noinline)) unsigned thrown(unsigned n)
{
    volatile unsigned before = n;
    int came = setjmp(back);

    if (came == 0) {
        sink(before);
        return 0;
    }
    return came + before;
}

unsigned run(void)
{
    if (tail(1) != 7)
        return 1;
    if (mixed(3) == 0)
        return 2;
    if (deep(9) != 47)
        return 3;
    if (count(9) & 7)
        return 4;
    if (thrown(2) != 5 || thrown(0) != 3)
        return 5;
    for (unsigned i = 0; i < 3; ++i)
        sums[i] = leaf(i) + tail(i);
    return sums[2] == 11 ? 0 : 6;
}
