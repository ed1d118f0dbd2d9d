/* A meter that prints its readings: built with the compiler's stack check. */

#include "board/lib.h"

#define DIGITS          8

__attribute__((noreturn)) void __stack_chk_fail(void);

uintptr_t __stack_chk_guard = 0x00AFF1CE;

static uint64_t energy;
static uint32_t printed;

__attribute__((noinline)) void __stack_chk_fail(void)
{
    for (;;)
        __asm volatile("bkpt");
}

static NOINLINE uint64_t pulses(unsigned second)
{
    return second < 60 ? 1000 + second * 317 % 900 : 40000000000;
}

static NOINLINE unsigned digits_of(uint64_t value, char *digits)
{
    unsigned count = 0;

    do
        digits[count++] = (char)('0' + value % 10);     /* CULPRIT */
    while ((value /= 10) != 0);
    return count;
}

static NOINLINE void print(uint64_t value)
{
    char digits[DIGITS];
    unsigned count = digits_of(value, digits);

    while (count)
        UART_DATA = (uint8_t)digits[--count];
    UART_DATA = '\n';
    ++printed;
}

int main(void)
{
    for (unsigned second = 0; second < 200; ++second) {
        energy += pulses(second);
        if (second % 8 == 0)
            print(energy);
    }
    return 0;
}
