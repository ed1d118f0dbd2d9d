/* What newlib asks of the board, beside what newlib.c has. */

#include "chip.h"

int _write(int file, const char *data, int size);
int _read(int file, char *data, int size);
__attribute__((noreturn)) void _exit(int code);

int _write(int file, const char *data, int size)
{
    (void)file;
    for (int i = 0; i < size; ++i)
        UART_DATA = (uint8_t)data[i];
    return size;
}

int _read(int file, char *data, int size)
{
    (void)file, (void)data, (void)size;
    return 0;
}

/* Where exit() and abort() end. */
void _exit(int code)
{
    for (;;)
        __asm volatile("bkpt 9" :: "r"(code));
}
