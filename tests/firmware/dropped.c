/* The linker drops functions, and leaves what debug information says of them at address 0, over those that are there. */

#include "common.h"

unsigned asked(unsigned value);     /* in dropped.S, as are these */
unsigned typed(unsigned value);
unsigned sized(unsigned value);
unsigned untyped(unsigned value);

static volatile unsigned switched, sum;

static inline unsigned folded(unsigned value)
{
    unsigned left = value;

    while (left > 9)
        left = left / 10 + left % 10;
    return left;
}

/* Called by nobody, and longer than what lies before run(). */
unsigned never_called(unsigned value)
{
    for (unsigned i = 0; i < 100; ++i) {
        switch (value % 8) {
        case 0: value = folded(value + i) * 3; break;
        case 1: value ^= sum >> i % 32; break;
        case 2: value -= folded(sum); break;
        case 3: sum = value * 5; break;
        case 4: value = (value << 7) | (value >> 25); break;
        case 5: sum += folded(value ^ sum); break;
        case 6: value += 0x12345679; break;
        default: value = ~value + sum; break;
        }
        sum ^= value;
    }
    return folded(value) + folded(sum);
}

unsigned never_called_either(unsigned value)
{
    for (unsigned i = 0; i < value; ++i)
        sum += folded(i) * value;
    return sum;
}

__attribute__((noinline)) static unsigned thrice(unsigned value)
{
    return folded(value) * 3;
}

__attribute__((used)) void switch_done(void)
{
    ++switched;
}

unsigned run(void)
{
    sum = 0;
    for (unsigned i = 0; i < 12; ++i) {
        sum += thrice(i) + folded(asked(i) + typed(i) + sized(i) + untyped(i));
        if (i % 4 == 3) {
            SCB_ICSR = ICSR_PENDSVSET;
            barrier();
        }
    }
    return switched == 3 ? 0 : 1;
}
