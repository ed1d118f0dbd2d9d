/* Every way in which T32 code goes elsewhere: the C side of branches.S. */

#include "common.h"

unsigned it_blocks(unsigned n);
unsigned it_stores(uint16_t *out, const int16_t *in, unsigned count);
unsigned it_exits(unsigned n);
unsigned compare_zero(unsigned n);
unsigned pop_pc(unsigned n);
unsigned ldm_pc(unsigned n);
unsigned ldr_pc(unsigned n);
unsigned mov_pc(unsigned n);
unsigned tail_call(unsigned n);
unsigned wide_branches(unsigned n);
unsigned conditional_calls(unsigned n);
unsigned leaf(unsigned n);

__attribute__((noinline)) unsigned leaf(unsigned n)
{
    return n + 1;
}

static bool stores_are_right(void)
{
    static const int16_t in[] = { 3, -1, 4, -1, 5, -9, 2, 6, -5, 3, 5, -8 };
    uint16_t out[24];

    for (unsigned i = 0; i < 24; ++i)
        out[i] = 0xAAAA;
    unsigned stored = it_stores(out, in, 12);
    unsigned positive = 0;
    for (unsigned i = 0; i < 12; ++i) {
        bool greater = in[i] > 0;
        positive += greater;
        if (out[2 * i] != (greater ? in[i] : 0xAAAA) || out[2 * i + 1] != (greater ? in[i] : 0xAAAA))
            return false;
    }
    return stored == positive;
}

unsigned run(void)
{
    unsigned sum = 0;

    for (unsigned n = 0; n < 12; ++n)
        sum = sum * 3 + it_blocks(n);
    if (sum != 10414368)
        return 1;
    if (!stores_are_right())
        return 2;
    for (unsigned n = 0; n < 6; ++n)
        if (it_exits(n) != (n == 0 ? 100 : n == 1 ? 201 : n == 2 ? 302 : n == 3 ? 403 : n))
            return 3;
    for (unsigned n = 0; n < 4; ++n)
        if (compare_zero(n) != (n ? n * (n + 1) / 2 : 77))
            return 4;
    for (unsigned n = 0; n < 4; ++n) {
        if (pop_pc(n) != n + 11)
            return 5;
        if (ldm_pc(n) != n + 21)
            return 6;
        if (ldr_pc(n) != 3 * n + 30)
            return 7;
        if (mov_pc(n) != n + 41)
            return 8;
        if (tail_call(n) != (n & 1 ? n + 52 : n + 51))
            return 9;
        if (wide_branches(n) != (n < 2 ? n + 60 : n + 70))
            return 10;
        if (conditional_calls(n) != (n > 1 ? n + 2 : n))
            return 11;
    }
    return 0;
}
