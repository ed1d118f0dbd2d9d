/* Small programs for a machine of registers run beside the firmware, whose own table is protected by the MPU. */

#include "board/lib.h"

#define MEMORY          16

enum { LOAD, STORE, ADD, SUB, SHIFT, JUMP_IF, SET, STOP };

struct machine {
    int32_t registers[4];
    uint32_t steps;
    int32_t *memory;
};

struct order {
    uint8_t what, a, b, c;
};

/* The machine's memory, and behind it a table that nobody may write while programs run. */
static struct {
    int32_t memory[MEMORY];
    uint32_t limits[8];
} world __attribute__((aligned(256)));

static struct machine machine;

static const struct order sum[] = {
    { SET, 0, 0, 0 }, { SET, 1, 12, 0 }, { SET, 2, 1, 0 }, { STORE, 1, 1, 0 }, { ADD, 0, 1, 0 }, { SUB, 1, 2, 0 },
    { JUMP_IF, 1, 3, 0 }, { STORE, 0, 2, 0 }, { STOP, 0, 0, 0 },
};
static const struct order clear[] = {
    { SET, 0, 0, 0 }, { SET, 1, 6, 0 }, { SET, 2, 1, 0 }, { SET, 3, 9, 0 }, { STORE, 0, 3, 1 }, { ADD, 3, 2, 0 },
    { SUB, 1, 2, 0 }, { JUMP_IF, 1, 4, 0 }, { STOP, 0, 0, 0 },
};
static const struct order clear_more[] = {
    { SET, 0, 0, 0 }, { SET, 1, 9, 0 }, { SET, 2, 1, 0 }, { SET, 3, 9, 0 }, { STORE, 0, 3, 1 }, { ADD, 3, 2, 0 },
    { SUB, 1, 2, 0 }, { JUMP_IF, 1, 4, 0 }, { STOP, 0, 0, 0 },
};
static const struct order shifts[] = {
    { LOAD, 0, 2, 0 }, { SET, 1, 3, 0 }, { SHIFT, 0, 1, 0 }, { STORE, 0, 4, 0 }, { STOP, 0, 0, 0 },
};

static void protect(uint32_t start, uint32_t size)
{
    if ((SCB_CPUID >> 4 & 0xFFF) == 0xD21) {
        MPU_MAIR0 = 0xFF;
        MPU_RNR = 0;
        MPU_RBAR = start | 2u << 1 | 1;
        MPU_RASR = (start + size - 32) | 1;
    } else {
        MPU_RNR = 0;
        MPU_RBAR = start;
        MPU_RASR = 1u << 28 | 5u << 24 | 4u << 1 | 1;
    }
    MPU_CTRL = 5;
    SCB_SHCSR = 1u << 16;
    barrier();
}

static NOINLINE void store(struct machine *m, unsigned place, int32_t value)
{
    m->memory[place] = value;           /* CULPRIT FAULTS */
}

static NOINLINE void execute(struct machine *m, const struct order *program)
{
    for (unsigned at = 0; program[at].what != STOP; ++m->steps) {
        const struct order *order = &program[at++];
        int32_t *a = &m->registers[order->a];
        switch (order->what) {
        case LOAD:      *a = m->memory[order->b]; break;
        case STORE:     store(m, order->c ? (unsigned)m->registers[order->b] : order->b, *a); break;   /* CULPRIT */
        case ADD:       *a += m->registers[order->b]; break;
        case SUB:       *a -= m->registers[order->b]; break;
        case SHIFT:     *a <<= m->registers[order->b] & 31; break;
        case JUMP_IF:   at = *a != 0 ? order->b : at; break;
        default:        *a = order->b; break;
        }
    }
}

int main(void)
{
    static const struct order *const programs[] = { sum, clear, shifts };

    for (unsigned i = 0; i < COUNT(world.limits); ++i)
        world.limits[i] = 100 * i;
    protect((uint32_t)world.limits, sizeof world.limits);
    machine.memory = world.memory;
    for (unsigned i = 0; i < 40; ++i)
        execute(&machine, i == 31 ? clear_more : programs[i % COUNT(programs)]);
    return 0;
}
