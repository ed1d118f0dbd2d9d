/* Sorting and recursion: three sorts, a tree walk, and functions that call themselves. */

#include "common.h"

#define COUNT 60

static int data[COUNT], expected_sum;

static uint32_t seed = 12345;

static int next_random(void)
{
    seed = seed * 1664525 + 1013904223;
    return seed >> 16 & 0x3FF;
}

static void fill(void)
{
    expected_sum = 0;
    for (int i = 0; i < COUNT; ++i)
        expected_sum += data[i] = next_random();
}

static bool sorted(void)
{
    int sum = data[0];

    for (int i = 1; i < COUNT; ++i) {
        if (data[i - 1] > data[i])
            return false;
        sum += data[i];
    }
    return sum == expected_sum;
}

static void swap(int *a, int *b)
{
    int c = *a;
    *a = *b;
    *b = c;
}

static void quick_sort(int *first, int *last)
{
    int *low = first, *high = last, pivot = first[(last - first) / 2];

    if (first >= last)
        return;
    while (low <= high) {
        while (*low < pivot)
            ++low;
        while (*high > pivot)
            --high;
        if (low <= high)
            swap(low++, high--);
    }
    quick_sort(first, high);
    quick_sort(low, last);
}

static void insertion_sort(int *values, int count)
{
    for (int i = 1; i < count; ++i)
        for (int j = i; j > 0 && values[j - 1] > values[j]; --j)
            swap(&values[j - 1], &values[j]);
}

static void sift_down(int *values, int root, int count)
{
    int child;

    while ((child = 2 * root + 1) < count) {
        if (child + 1 < count && values[child] < values[child + 1])
            ++child;
        if (values[root] >= values[child])
            return;
        swap(&values[root], &values[child]);
        root = child;
    }
}

static void heap_sort(int *values, int count)
{
    for (int root = count / 2; root-- > 0; )
        sift_down(values, root, count);
    while (count-- > 1) {
        swap(&values[0], &values[count]);
        sift_down(values, 0, count);
    }
}

static unsigned fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static unsigned ackermann(unsigned m, unsigned n)
{
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

static bool is_odd(unsigned n);

static __attribute__((noinline)) bool is_even(unsigned n)
{
    return n == 0 || is_odd(n - 1);
}

static __attribute__((noinline)) bool is_odd(unsigned n)
{
    return n != 0 && is_even(n - 1);
}

unsigned run(void)
{
    fill();
    quick_sort(data, data + COUNT - 1);
    if (!sorted())
        return 1;
    fill();
    insertion_sort(data, COUNT);
    if (!sorted())
        return 2;
    fill();
    heap_sort(data, COUNT);
    if (!sorted())
        return 3;
    if (fibonacci(13) != 233)
        return 4;
    if (ackermann(2, 5) != 13)
        return 5;
    if (!is_even(20) || is_even(21))
        return 6;
    return 0;
}
