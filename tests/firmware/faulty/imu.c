/* An inertial unit: integers in calibration, floating point in the filter. */

#include "board/lib.h"

#define CALIBRATION     40

struct axis {
    int32_t sum, offset;
    float angle, rate;
};

static struct axis axes[3];
static uint32_t updates;

static NOINLINE int32_t gyroscope(unsigned axis, unsigned sample)
{
    return (int32_t)((sample * 31 + axis * 17) % 41) - 20 + (int32_t)axis * 5;
}

static void fpu_on(void)
{
    SCB_CPACR |= 0xFu << 20;
    barrier();
}

static NOINLINE void calibrate(unsigned sample)
{
    for (unsigned i = 0; i < COUNT(axes); ++i)
        axes[i].sum += gyroscope(i, sample);
}

static NOINLINE void finish_calibration(void)
{
    for (unsigned i = 0; i < COUNT(axes); ++i) {
        axes[i].offset = axes[i].sum / CALIBRATION;
        put_number((uint32_t)(axes[i].offset + 100));
    }
}

static NOINLINE void integrate(struct axis *axis, int32_t raw)
{
    float rate = (float)(raw - axis->offset) * 0.0625f;         /* CULPRIT FAULTS */

    axis->angle += (rate + axis->rate) * 0.0025f;       /* CULPRIT FAULTS */
    axis->rate = rate;
}

static NOINLINE void power_up(bool fast)
{
    if (!fast)                          /* CULPRIT */
        fpu_on();
}

int main(void)
{
    power_up(SCB_CPUID >> 24 == 0x41);
    for (unsigned sample = 0; sample < CALIBRATION; ++sample)
        calibrate(sample);
    finish_calibration();
    for (unsigned sample = 0; sample < 500; ++sample)
        for (unsigned i = 0; i < COUNT(axes); ++i) {
            integrate(&axes[i], gyroscope(i, sample));
            ++updates;
        }
    return 0;
}
