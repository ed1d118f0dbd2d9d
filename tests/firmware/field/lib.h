/* What the programs share: bytes and strings, time, and the inputs.  A freestanding program has no C library. */

#ifndef LIB_H
#define LIB_H

#include <stddef.h>

#include "../recovery/inputs.h"

/* The program's work, as run() of ../common.h: what start-up code does before comes first. */
unsigned program(void);

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
int memcmp(const void *one, const void *other, size_t size);
size_t strlen(const char *text);
int strcmp(const char *one, const char *other);

/* Instructions since lib_time_begin, as a board's timer counts them; for programs that do not use SysTick otherwise. */
void lib_time_begin(void);
uint32_t lib_time(void);

#define CONTAINER(pointer, type, member) ((type *)((char *)(pointer) - offsetof(type, member)))

#endif
