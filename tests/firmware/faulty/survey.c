/* A survey of sensors; a handler of faults clears their status, goes on behind the instruction, and gives up at last. */

#include "board/lib.h"

#define SENSORS         5

static struct {
    uint32_t values[SENSORS];
    const uint32_t *scale;
    uint32_t rounds, sum;
} survey;

static const uint32_t scale[SENSORS] = { 3, 5, 7, 9, 11 };
static uint32_t faults, reported;

void report(uint32_t *frame);
void give_up(void);

__attribute__((naked)) void BusFault_Handler(void)
{
    __asm volatile("tst lr, #4\n\tite eq\n\tmrseq r0, msp\n\tmrsne r0, psp\n\tb report");
}

NOINLINE void give_up(void)
{
    for (;;)
        __asm volatile("bkpt 8");
}

void report(uint32_t *frame)
{
    uint32_t status = SCB_CFSR;
    const uint16_t *code = (const uint16_t *)frame[6];

    SCB_CFSR = status;
    reported |= status;
    frame[6] += *code >> 11 >= 0x1D ? 4 : 2;
    if (++faults == 3)
        give_up();
}

static NOINLINE void put(unsigned at, uint32_t value)
{
    survey.values[at] = value;          /* CULPRIT */
}

static NOINLINE uint32_t weigh(unsigned at)
{
    uint32_t factor = survey.scale[at]; /* FAULTS */

    return survey.values[at] * factor;  /* FAULTS */
}

int main(void)
{
    SCB_SHCSR |= 1u << 17;      /* BusFault */
    survey.scale = scale;
    for (unsigned round = 0; round < 50; ++round) {
        unsigned count = round == 31 ? SENSORS + 1 : SENSORS;

        for (unsigned i = 0; i < count; ++i)
            put(i, 0x70000000u + round * 16 + i);
        for (unsigned i = 0; i < SENSORS; ++i)
            survey.sum += weigh(i);
        ++survey.rounds;
    }
    return 0;
}
