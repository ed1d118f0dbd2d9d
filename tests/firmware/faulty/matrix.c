/* A regression of measurements: sums of products, a matrix, its solution. */

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "board/chip.h"

#define ORDER           3
#define SCALE           256

struct fit {
    int32_t m[ORDER][ORDER + 1];
    unsigned count;
};

static int32_t samples[32][2];
static uint32_t solved;

static NOINLINE void measure(unsigned round)
{
    for (unsigned i = 0; i < COUNT(samples); ++i) {
        samples[i][0] = (int32_t)(i % 8) - 4 + (int32_t)(round % 3);
        samples[i][1] = 3 * samples[i][0] + (int32_t)((i * 13 + round) % 7);
        if (round == 6)
            samples[i][0] = 2;          /* CULPRIT */
    }
}

static NOINLINE void sum_up(struct fit *fit)
{
    memset(fit, 0, sizeof *fit);
    for (unsigned i = 0; i < COUNT(samples); ++i, ++fit->count) {
        int32_t powers[ORDER] = { 1, samples[i][0], samples[i][0] * samples[i][0] };
        for (unsigned row = 0; row < ORDER; ++row) {
            for (unsigned column = 0; column < ORDER; ++column)
                fit->m[row][column] += powers[row] * powers[column];
            fit->m[row][ORDER] += powers[row] * samples[i][1];
        }
    }
}

static NOINLINE void eliminate(struct fit *fit, unsigned column)
{
    int64_t pivot = fit->m[column][column];

    assert(pivot != 0);                 /* FAULTS */
    for (unsigned row = column + 1; row < ORDER; ++row) {
        int64_t factor = fit->m[row][column] * (int64_t)SCALE / pivot;
        for (unsigned i = column; i <= ORDER; ++i)
            fit->m[row][i] -= (int32_t)(factor * fit->m[column][i] / SCALE);
    }
}

void __assert_func(const char *file, int line, const char *function, const char *what)
{
    (void)file, (void)line, (void)function;
    for (; *what; ++what)
        UART_DATA = (uint8_t)*what;
    for (;;)
        __asm volatile("bkpt");
}

int main(void)
{
    struct fit fit;

    for (unsigned round = 0; round < 20; ++round) {
        measure(round);
        sum_up(&fit);
        for (unsigned column = 0; column < ORDER; ++column)
            eliminate(&fit, column);
        ++solved;
    }
    return 0;
}
