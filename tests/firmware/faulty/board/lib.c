/* What the compiler calls in programs without a C library, and the little that such programs use of one. */

#include "lib.h"

void *memcpy(void *to, const void *from, size_t size)
{
    uint8_t *out = to;
    const uint8_t *in = from;

    while (size--)
        *out++ = *in++;
    return to;
}

void *memmove(void *to, const void *from, size_t size)
{
    uint8_t *out = to;
    const uint8_t *in = from;

    if (out <= in)
        return memcpy(to, from, size);
    while (size--)
        out[size] = in[size];
    return to;
}

void *memset(void *to, int byte, size_t size)
{
    uint8_t *out = to;

    while (size--)
        *out++ = (uint8_t)byte;
    return to;
}

int memcmp(const void *one, const void *other, size_t size)
{
    const uint8_t *a = one, *b = other;

    for (; size--; ++a, ++b)
        if (*a != *b)
            return *a - *b;
    return 0;
}

size_t strlen(const char *text)
{
    const char *end = text;

    while (*end)
        ++end;
    return (size_t)(end - text);
}

int strcmp(const char *one, const char *other)
{
    while (*one && *one == *other)
        ++one, ++other;
    return (unsigned char)*one - (unsigned char)*other;
}

char *strcpy(char *to, const char *from)
{
    char *out = to;

    while ((*out++ = *from++))
        ;
    return to;
}

void put_text(const char *text)
{
    while (*text)
        UART_DATA = (uint8_t)*text++;
}

void put_number(uint32_t number)
{
    char digits[10];
    unsigned count = 0;

    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    while (count)
        UART_DATA = (uint8_t)digits[--count];
}
