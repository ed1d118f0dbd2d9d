/* What a C library asks of the system, and what comes before the program. */

#include <errno.h>
#include <stddef.h>
#include <sys/stat.h>

#include "../../recovery/inputs.h"
#include "../../recovery/limits.h"
#include "system.h"

#define MAIN_STACK      32768
#define HEAP            131072
#define LONGEST         0xFFFFFFu

extern char end[];
extern uint32_t _stack_top[];
extern void *__dso_handle;
extern void (*__init_array_start[])(void), (*__init_array_end[])(void);

void *_sbrk(ptrdiff_t increment);
int _write(int file, const char *data, int size);
int _read(int file, char *data, int size);
int _close(int file);
int _lseek(int file, int offset, int whence);
int _fstat(int file, struct stat *status);
int _isatty(int file);
int _getpid(void);
int _kill(int process, int number);
__attribute__((noreturn)) void _exit(int code);

/* What the destructors of a program are registered with; it has no end that calls them. */
void *__dso_handle;

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

void *_sbrk(ptrdiff_t increment)
{
    static char *at = end;
    char *before = at;

    if (at + increment > end + HEAP) {
        errno = ENOMEM;
        return (void *)-1;
    }
    at += increment;
    return before;
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

int _close(int file)
{
    (void)file;
    return -1;
}

int _lseek(int file, int offset, int whence)
{
    (void)file, (void)offset, (void)whence;
    return 0;
}

int _fstat(int file, struct stat *status)
{
    (void)file;
    status->st_mode = S_IFCHR;
    return 0;
}

int _isatty(int file)
{
    (void)file;
    return 1;
}

int _getpid(void)
{
    return 1;
}

int _kill(int process, int number)
{
    (void)process, (void)number;
    errno = EINVAL;
    return -1;
}

void _exit(int code)
{
    failed((unsigned)code);
}
