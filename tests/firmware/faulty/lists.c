/* Reads nested lists of numbers, and adds them up; a list may hold lists. */

#include "board/lib.h"

struct reader {
    const char *at;
    unsigned depth, deepest, lists;
};

static char document[600];

static NOINLINE void skip_spaces(struct reader *reader)
{
    while (*reader->at == ' ')
        ++reader->at;
}

static NOINLINE int32_t read_number(struct reader *reader)
{
    int32_t value = 0;

    for (; *reader->at >= '0' && *reader->at <= '9'; ++reader->at)
        value = value * 10 + (*reader->at - '0');
    return value;
}

static NOINLINE int32_t read_list(struct reader *reader)
{                                       /* CULPRIT */
    int32_t values[4], sum = 0;         /* CULPRIT */
    unsigned count = 0;

    ++reader->lists;
    if (++reader->depth > reader->deepest)
        reader->deepest = reader->depth;
    skip_spaces(reader);
    for (++reader->at; *reader->at && *reader->at != ']'; skip_spaces(reader)) {
        int32_t value = *reader->at == '[' ? read_list(reader) : read_number(reader);   /* CULPRIT */
        values[count++ & 3] = value;
        if (*reader->at == ',')
            ++reader->at;
        skip_spaces(reader);
    }
    if (*reader->at == ']')
        ++reader->at;
    --reader->depth;
    for (unsigned i = 0; i < count && i < 4; ++i)
        sum += values[i];
    return sum;
}

static NOINLINE void compose(unsigned depth, unsigned lists)
{
    char *to = document;

    *to++ = '[';
    for (unsigned list = 0; list < lists; ++list) {
        for (unsigned i = 0; i < depth; ++i) {
            *to++ = '[';
            *to++ = (char)('1' + (i + list) % 9);
            *to++ = ',';
        }
        *to++ = '7';
        for (unsigned i = 0; i < depth; ++i)
            *to++ = ']';
        *to++ = ',';
    }
    *to++ = '0';
    *to++ = ']';
    *to = 0;
}

static NOINLINE int32_t read_all(void)
{
    struct reader reader = { document, 0, 0, 0 };

    return read_list(&reader);
}

int main(void)
{
    static const uint8_t depths[] = { 2, 3, 1, 4, 2, 3, 120 };
    int32_t sum = 0;

    for (unsigned i = 0; i < COUNT(depths); ++i) {
        compose(depths[i], depths[i] < 10 ? 5 : 1);
        sum += read_all();
        put_number((uint32_t)sum);
    }
    return 0;
}
