/* Sorting, searching, tables, strings and checksums, of numbers that the program makes itself. */

#include "inputs.h"

#define NUMBERS         48
#define WORDS           24
#define BUCKETS         16
#ifdef __OPTIMIZE__
#define ROUNDS          7
#else
#define ROUNDS          2
#endif

struct entry {
    const char *word;
    unsigned count;
    struct entry *next;
};

static uint32_t seed = 2463534242u;
static uint32_t numbers[NUMBERS], copy[NUMBERS];
static struct entry entries[WORDS], *buckets[BUCKETS];
static char text[256], reversed[256], encoded[352];
static unsigned used;

static uint32_t next_number(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed;
}

static int ascending(uint32_t a, uint32_t b)
{
    return a < b ? -1 : a > b;
}

static int by_low_byte(uint32_t a, uint32_t b)
{
    return (int)(a & 0xFF) - (int)(b & 0xFF);
}

static void swap(uint32_t *a, uint32_t *b)
{
    uint32_t kept = *a;
    *a = *b;
    *b = kept;
}

static __attribute__((noinline)) void quick_sort(uint32_t *values, int count, int (*compare)(uint32_t, uint32_t))
{
    if (count < 2)
        return;
    uint32_t pivot = values[count / 2];
    int low = 0, high = count - 1;
    while (low <= high) {
        while (compare(values[low], pivot) < 0)
            ++low;
        while (compare(values[high], pivot) > 0)
            --high;
        if (low <= high)
            swap(&values[low++], &values[high--]);
    }
    quick_sort(values, high + 1, compare);
    quick_sort(values + low, count - low, compare);
}

static __attribute__((noinline)) void sift(uint32_t *values, unsigned root, unsigned count)
{
    for (;;) {
        unsigned child = 2 * root + 1;
        if (child >= count)
            return;
        if (child + 1 < count && values[child + 1] > values[child])
            ++child;
        if (values[root] >= values[child])
            return;
        swap(&values[root], &values[child]);
        root = child;
    }
}

static __attribute__((noinline)) void heap_sort(uint32_t *values, unsigned count)
{
    for (unsigned i = count / 2; i-- > 0; )
        sift(values, i, count);
    for (unsigned end = count; --end > 0; ) {
        swap(&values[0], &values[end]);
        sift(values, 0, end);
    }
}

static __attribute__((noinline)) uint32_t crc32(const uint8_t *data, unsigned length)
{
    uint32_t crc = ~0u;

    while (length-- > 0) {
        crc ^= *data++;
        for (int bit = 0; bit < 8; ++bit)
            crc = crc & 1 ? crc >> 1 ^ 0xEDB88320 : crc >> 1;
    }
    return ~crc;
}

static unsigned hash(const char *word)
{
    unsigned value = 5381;

    while (*word)
        value = value * 33 + (uint8_t)*word++;
    return value % BUCKETS;
}

static bool equal(const char *a, const char *b)
{
    while (*a && *a == *b)
        ++a, ++b;
    return *a == *b;
}

static __attribute__((noinline)) struct entry *count_word(const char *word)
{
    struct entry **place = &buckets[hash(word)];

    for (; *place; place = &(*place)->next)
        if (equal((*place)->word, word)) {
            ++(*place)->count;
            return *place;
        }
    if (used == WORDS)
        return 0;
    *place = &entries[used++];
    (*place)->word = word;
    (*place)->count = 1;
    return *place;
}

static __attribute__((noinline)) unsigned write_text(char *out)
{
    static const char *const words[] = { "trace", "unit", "branch", "atom", "sync", "buffer", "word", "register" };
    char *at = out;

    for (int i = 0; i < 20; ++i) {
        const char *word = words[next_number() % COUNT(words)];
        count_word(word);
        while (*word)
            *at++ = *word++;
        *at++ = ' ';
    }
    *at = 0;
    return at - out;
}

static __attribute__((noinline)) void reverse(char *out, const char *in, unsigned length)
{
    for (unsigned i = 0; i < length; ++i)
        out[i] = in[length - 1 - i];
    out[length] = 0;
}

static __attribute__((noinline)) unsigned base64(char *out, const uint8_t *in, unsigned length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *at = out;

    for (unsigned i = 0; i + 2 < length; i += 3) {
        uint32_t group = (uint32_t)in[i] << 16 | in[i + 1] << 8 | in[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6)
            *at++ = digits[group >> shift & 63];
    }
    *at = 0;
    return at - out;
}

static __attribute__((noinline)) int find(const uint32_t *values, int count, uint32_t wanted)
{
    int low = 0, high = count - 1;

    while (low <= high) {
        int middle = (low + high) / 2;
        if (values[middle] == wanted)
            return middle;
        if (values[middle] < wanted)
            low = middle + 1;
        else
            high = middle - 1;
    }
    return -1;
}

static __attribute__((noinline)) unsigned classify(const char *string)
{
    unsigned letters = 0, vowels = 0, spaces = 0;

    for (; *string; ++string)
        switch (*string) {
        case 'a': case 'e': case 'i': case 'o': case 'u':
            ++vowels;
            ++letters;
            break;
        case ' ':
            ++spaces;
            break;
        default:
            ++letters;
        }
    return letters << 16 | vowels << 8 | spaces;
}

unsigned run(void)
{
    uint32_t sum = 0;

    for (int round = 0; round < ROUNDS; ++round) {
        for (unsigned i = 0; i < NUMBERS; ++i)
            copy[i] = numbers[i] = next_number() >> (round & 3) * 8;
        quick_sort(numbers, NUMBERS, round & 1 ? by_low_byte : ascending);
        heap_sort(copy, NUMBERS);
        for (unsigned i = 1; i < NUMBERS; ++i)
            if (copy[i - 1] > copy[i])
                return 1;
        for (unsigned i = 0; i < NUMBERS; i += 5)
            if (copy[find(copy, NUMBERS, numbers[i])] != numbers[i])
                return 2;
        unsigned length = write_text(text);
        reverse(reversed, text, length);
        sum += classify(text) ^ crc32((const uint8_t *)reversed, length / 3);
        sum += base64(encoded, (const uint8_t *)text, length);
    }
    unsigned counted = 0;
    for (unsigned i = 0; i < used; ++i)
        counted += entries[i].count;
    return counted == 20 * ROUNDS && sum != 0 ? 0 : 3;
}
