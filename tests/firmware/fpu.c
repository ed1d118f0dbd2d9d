/* Single-precision floating point: a polynomial, Newton's root, a matrix, comparisons, conversions. */

#include "common.h"

static __attribute__((noinline)) float polynomial(float x)
{
    static const float coefficients[] = { 1.0f, -0.5f, 0.25f, -0.125f, 0.0625f };
    float sum = 0.0f;

    for (int i = 4; i >= 0; --i)
        sum = sum * x + coefficients[i];
    return sum;
}

static __attribute__((noinline)) float newton_root(float value)
{
    float guess = value > 1.0f ? value / 2.0f : 1.0f;

    for (int i = 0; i < 20; ++i) {
        float next = 0.5f * (guess + value / guess);
        float step = next > guess ? next - guess : guess - next;
        guess = next;
        if (step < 1e-6f)
            break;
    }
    return guess;
}

static __attribute__((noinline)) void multiply(float out[3][3], float a[3][3], float b[3][3])
{
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            out[i][j] = 0.0f;
            for (int k = 0; k < 3; ++k)
                out[i][j] += a[i][k] * b[k][j];
        }
}

static __attribute__((noinline)) float largest(const float *values, int count)
{
    float result = values[0];

    for (int i = 1; i < count; ++i)
        result = values[i] > result ? values[i] : result;
    return result;
}

static bool near(float a, float b)
{
    float difference = a - b;

    return difference < 1e-3f && difference > -1e-3f;
}

static __attribute__((noinline)) unsigned checks(void)
{
    float a[3][3] = { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 10 } };
    float b[3][3] = { { 2, 0, 0 }, { 0, 0.5f, 0 }, { 0, 0, -1 } };
    float c[3][3];

    if (!near(polynomial(2.0f), 1.0f))
        return 1;
    if (!near(newton_root(2.0f), 1.41421f) || !near(newton_root(0.25f), 0.5f))
        return 2;
    multiply(c, a, b);
    if (!near(c[0][0], 2.0f) || !near(c[1][1], 2.5f) || !near(c[2][2], -10.0f))
        return 3;
    if (!near(largest(&c[0][0], 9), 14.0f))
        return 4;
    int sum = 0;
    for (int i = -5; i < 6; ++i)
        sum += (int)(i * 1.5f) * (i < 0 ? -1 : 2);
    if (sum != 21 + 42)
        return 5;
    float nan = 0.0f;
    __asm volatile("vdiv.f32 %0, %0, %0" : "+t"(nan));
    if (nan == nan || nan > 1.0f || nan < 1.0f)
        return 6;
    return 0;
}

unsigned run(void)
{
    SCB_CPACR |= 0xFu << 20;
    barrier();
    return checks();
}
