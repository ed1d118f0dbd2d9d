/* What newlib asks of the board, beside what newlib.c has, and what comes before the program. */

#include "../../recovery/inputs.h"
#include "../../recovery/limits.h"
#include "system.h"

#define MAIN_STACK      32768
#define LONGEST         0xFFFFFFu

extern uint32_t _stack_top[];
extern void (*__init_array_start[])(void), (*__init_array_end[])(void);

int _write(int file, const char *data, int size);
int _read(int file, char *data, int size);
__attribute__((noreturn)) void _exit(int code);

__attribute__((noinline)) static unsigned begin(void)
{
    for (void (**constructor)(void) = __init_array_start; constructor < __init_array_end; ++constructor)
        (*constructor)();
    return program();
}

unsigned run(void)
{
    set_main_limit((uint32_t)_stack_top - MAIN_STACK);
    SCB_CPACR |= 0xFu << 20;
    barrier();
    SYST_RVR = LONGEST;
    SYST_CVR = 0;
    SYST_CSR = 5;
    unsigned check = begin();
    barrier();      /* not a tail call */
    return check;
}

uint32_t system_time(void)
{
    return LONGEST - SYST_CVR;
}

int _write(int file, const char *data, int size)
{
    (void)file;
    for (int i = 0; i < size; ++i)
        OUTPUT_BYTE = (uint8_t)data[i];
    return size;
}

int _read(int file, char *data, int size)
{
    (void)file;
    if (size == 0 || (CONSOLE_STATUS & 1) == 0)
        return 0;
    *data = (char)CONSOLE_BYTE;
    return 1;
}

void _exit(int code)
{
    failed((unsigned)code);
}
