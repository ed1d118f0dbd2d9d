/* Division, which a Cortex-A9 has no instruction for, by the names that the compiler calls (RTABI, 4.3.1). */

#include "../common.h"

/* The quotient below, the remainder above it. */
uint64_t __aeabi_uidivmod(uint32_t numerator, uint32_t denominator)
{
    uint32_t quotient = 0, remainder = 0;

    for (int bit = 31; bit >= 0; --bit) {
        remainder = remainder << 1 | (numerator >> bit & 1);
        if (remainder >= denominator) {
            remainder -= denominator;
            quotient |= 1u << bit;
        }
    }
    return (uint64_t)remainder << 32 | quotient;
}

uint32_t __aeabi_uidiv(uint32_t numerator, uint32_t denominator)
{
    return (uint32_t)__aeabi_uidivmod(numerator, denominator);
}

static uint32_t magnitude(int32_t number)
{
    return number < 0 ? -(uint32_t)number : (uint32_t)number;
}

int32_t __aeabi_idiv(int32_t numerator, int32_t denominator)
{
    uint32_t quotient = __aeabi_uidiv(magnitude(numerator), magnitude(denominator));

    return (int32_t)((numerator ^ denominator) < 0 ? -quotient : quotient);
}

uint64_t __aeabi_idivmod(int32_t numerator, int32_t denominator)
{
    int32_t quotient = __aeabi_idiv(numerator, denominator);

    return (uint64_t)(uint32_t)(numerator - quotient * denominator) << 32 | (uint32_t)quotient;
}
