/* What newlib asks of a system that has a heap from end to _heap_end, and neither files nor processes. */

#include <errno.h>
#include <stddef.h>
#include <sys/stat.h>

extern char end[], _heap_end[];
extern void *__dso_handle;

void *_sbrk(ptrdiff_t increment);
int _close(int file);
int _lseek(int file, int offset, int whence);
int _fstat(int file, struct stat *status);
int _isatty(int file);
int _getpid(void);
int _kill(int process, int number);

/* What the destructors of a program are registered with; it has no end that calls them. */
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
