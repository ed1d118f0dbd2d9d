/* What only a Cortex-A has: modes and their exceptions, A32 and T32 code that call each other, the Context ID. */

#include "../common.h"

#define PRIVATE         0xF8F00000
#define ICCICR          REG(PRIVATE + 0x100)
#define ICCIAR          REG(PRIVATE + 0x10C)
#define ICCEOIR         REG(PRIVATE + 0x110)
#define TIMER_LOAD      REG(PRIVATE + 0x600)
#define TIMER_CONTROL   REG(PRIVATE + 0x608)
#define TIMER_STATUS    REG(PRIVATE + 0x60C)
#define ICDDCR          REG(PRIVATE + 0x1000)
#define ICDISER         REG(PRIVATE + 0x1100)
#define ICDSGIR         REG(PRIVATE + 0x1F00)
#define TIMER           29

unsigned conditions(unsigned n);
unsigned call_both(unsigned n);
unsigned double_thumb(unsigned n);
unsigned it_undefined(unsigned n);
unsigned undefined(unsigned n);
unsigned load_nothing(void);
unsigned store_nothing(void);
unsigned jump_nowhere(void);
unsigned ask(unsigned n);
void set_context_id(unsigned id);
void interrupts_on(void);
void wait_for_interrupt(void);

static volatile unsigned ticks, software;
static volatile unsigned results[4];

unsigned supervisor_call(unsigned n)
{
    return n * 5 + 1;
}

void interrupt(void)
{
    unsigned number = ICCIAR & 0x3FF;

    if (number == TIMER) {
        TIMER_STATUS = 1;
        ++ticks;
    } else {
        ++software;
    }
    ICCEOIR = number;
}

static __attribute__((noinline)) unsigned work(unsigned n)
{
    unsigned sum = 1;

    for (unsigned i = 0; i < n; ++i) {
        sum = sum * 3 + i;
        if (sum & 4)
            sum = double_thumb(sum);
        results[i & 3] = sum;
    }
    return sum;
}

unsigned run(void)
{
    unsigned sum = 0;

    for (unsigned n = 0; n < 8; ++n)
        sum = sum * 3 + conditions(n);
    if (sum == 0)
        return 1;
    for (unsigned n = 0; n < 4; ++n)
        if (call_both(n) != 4 * n + 4 + (n > 0))
            return 2;
    if (ask(4) != 21 || ask(6) != 31)
        return 3;
    if (undefined(3) != 3 || it_undefined(2) != 2)
        return 4;
    if (load_nothing() != 7 || store_nothing() != 8 || jump_nowhere() != 9)
        return 5;
    set_context_id(0x1234);
    ICCICR = ICDDCR = 1;
    ICDISER = 1u << TIMER;
    interrupts_on();
    ICDSGIR = 2u << 24 | 3;
    ICDSGIR = 2u << 24 | 5;
    TIMER_LOAD = 97;
    TIMER_CONTROL = 7;
    unsigned first = work(60), again = work(60);
    if (first != again || ticks < 5 || software != 2)
        return 6;
    TIMER_CONTROL = 0;
    unsigned before = ticks;
    TIMER_LOAD = 300;
    TIMER_CONTROL = 5;
    while (ticks == before)
        wait_for_interrupt();
    set_context_id(0x56789ABC);
    return work(9) == 0;
}
