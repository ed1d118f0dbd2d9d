/* An instruction of an IT block that an input decides, long before a branch that depends on it. */

#include "common.h"

const volatile uint32_t input[8] = { 7 };

static volatile unsigned results[4];

unsigned run(void)
{
    unsigned value = input[0], chosen = 1;

    for (unsigned i = 0; i < 5; ++i)
        results[i & 3] += i;
    __asm volatile("cmp %1, #7\n\tit eq\n\tmoveq %0, #4" : "+r"(chosen) : "r"(value) : "cc"); /* SKIPPED */
    for (unsigned i = 0; i < 5; ++i)
        results[i & 3] += chosen;
    return results[2] == 0;
}
