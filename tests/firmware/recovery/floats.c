/* Single-precision floating point with a unit: a transform, a filter, bodies in motion, and SysTick using it too. */

#include "inputs.h"

#define POINTS          32
#define BODIES          4
#ifdef __OPTIMIZE__
#define ROUNDS          13
#else
#define ROUNDS          4
#endif

struct body {
    float x, y, vx, vy, mass;
};

static float real[POINTS], imaginary[POINTS], sines[POINTS];
static struct body bodies[BODIES] = {
    { 0, 0, 0, 0, 10 }, { 4, 0, 0, 1.5f, 1 }, { 0, -7, 1.1f, 0, 0.5f }, { -9, 1, 0, -1, 0.25f },
};
static volatile float level;
static volatile unsigned ticks;

void SysTick_Handler(void)
{
    ++ticks;
    level = level * 0.75f + (float)(SAMPLE(2) & 0xFF) * 0.25f;
}

static float root(float value)
{
    float result;

    __asm("vsqrt.f32 %0, %1" : "=t"(result) : "t"(value));
    return result;
}

static __attribute__((noinline)) float sine(float x)
{
    float square = x * x, term = x, sum = x;

    for (int i = 1; i < 6; ++i) {
        term *= -square / (float)(2 * i * (2 * i + 1));
        sum += term;
    }
    return sum;
}

static __attribute__((noinline)) void transform(void)
{
    for (unsigned i = 1, j = 0; i < POINTS; ++i) {
        unsigned bit = POINTS >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            float kept = real[i];
            real[i] = real[j];
            real[j] = kept;
        }
    }
    for (unsigned length = 2; length <= POINTS; length *= 2)
        for (unsigned start = 0; start < POINTS; start += length)
            for (unsigned k = 0; k < length / 2; ++k) {
                unsigned turn = k * (POINTS / length), a = start + k, b = a + length / 2;
                float s = sines[turn], c = sines[(turn + POINTS / 4) % POINTS];
                float re = real[b] * c + imaginary[b] * s, im = imaginary[b] * c - real[b] * s;
                real[b] = real[a] - re;
                imaginary[b] = imaginary[a] - im;
                real[a] += re;
                imaginary[a] += im;
            }
}

static __attribute__((noinline)) void move(float step)
{
    for (unsigned i = 0; i < BODIES; ++i)
        for (unsigned j = 0; j < BODIES; ++j) {
            if (i == j)
                continue;
            float dx = bodies[j].x - bodies[i].x, dy = bodies[j].y - bodies[i].y;
            float square = dx * dx + dy * dy + 0.01f;
            float pull = bodies[j].mass / (square * root(square)) * step;
            bodies[i].vx += dx * pull;
            bodies[i].vy += dy * pull;
        }
    for (unsigned i = 0; i < BODIES; ++i) {
        bodies[i].x += bodies[i].vx * step;
        bodies[i].y += bodies[i].vy * step;
    }
}

static __attribute__((noinline)) float energy(void)
{
    float sum = 0;

    for (unsigned i = 0; i < BODIES; ++i)
        sum += 0.5f * bodies[i].mass * (bodies[i].vx * bodies[i].vx + bodies[i].vy * bodies[i].vy);
    return sum;
}

unsigned run(void)
{
    float peak = 0;

    SCB_CPACR |= 0xFu << 20;
    barrier();
    SYST_RVR = 1500;
    SYST_CVR = 0;
    SYST_CSR = 7;
    for (unsigned i = 0; i < POINTS; ++i) {
        int turn = i < POINTS / 2 ? (int)i : (int)i - POINTS;
        sines[i] = sine((float)turn * (3.14159265f / (POINTS / 2)));
    }
    for (int round = 0; round < ROUNDS; ++round) {
        for (unsigned i = 0; i < POINTS; ++i) {
            real[i] = (float)(int)(SAMPLE(3) & 0x3FF) - 512.0f;
            imaginary[i] = 0;
        }
        transform();
        for (unsigned i = 1; i < POINTS / 2; ++i) {
            float power = root(real[i] * real[i] + imaginary[i] * imaginary[i]);
            if (power > peak)
                peak = power;
        }
        for (int i = 0; i < 12; ++i)
            move(0.01f);
    }
    SYST_CSR = 0;
    return peak > 1.0f && energy() > 0.1f && energy() < 1000.0f && ticks > 3 && level >= 0 ? 0 : 1;
}
