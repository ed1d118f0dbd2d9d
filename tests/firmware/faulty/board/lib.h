/* For programs without a C library. */

#ifndef LIB_H
#define LIB_H

#include "chip.h"

#ifdef __cplusplus
extern "C" {
#endif

void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *one, const void *other, size_t size);
size_t strlen(const char *text);
int strcmp(const char *one, const char *other);
char *strcpy(char *to, const char *from);

/* Write to the serial port. */
void put_text(const char *text);
void put_number(uint32_t number);

#ifdef __cplusplus
}
#endif

#endif
