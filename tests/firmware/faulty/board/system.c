/* What newlib asks of the system. */

#include <errno.h>
#include <sys/stat.h>

#include "chip.h"

extern char end[], _heap_end[];
extern void *__dso_handle;

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

void *__dso_handle;

void *_sbrk(ptrdiff_t increment)
{
    static char *at = end;
    char *before = at;

    if (at + increment > _heap_end) {
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
        UART_DATA = (uint8_t)data[i];
    return size;
}

int _read(int file, char *data, int size)
{
    (void)file, (void)data, (void)size;
    return 0;
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

/* Where exit() and abort() end. */
void _exit(int code)
{
    for (;;)
        __asm volatile("bkpt 9" :: "r"(code));
}
