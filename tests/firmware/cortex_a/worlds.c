/* Both security states: the same work in each, and the monitor between them. */

#include "../common.h"

void monitor_on(void);
unsigned ask_monitor(unsigned n);

static volatile unsigned results[4];

static __attribute__((noinline)) unsigned work(unsigned n)
{
    unsigned sum = 1;

    for (unsigned i = 0; i < n; ++i) {
        sum = sum * 5 + i;
        results[i & 3] = sum;
    }
    return sum;
}

unsigned run(void)
{
    unsigned secure = work(9);

    monitor_on();
    for (unsigned n = 0; n < 4; ++n) {
        if (ask_monitor(n) != n + 1)
            return 1;
        if (work(9) != secure)
            return 2;
    }
    return 0;
}
