/* MSPLIM and PSPLIM, where the core has them: the compiler's target does not. */

#ifndef LIMITS_H
#define LIMITS_H

#include "../common.h"

#define CPUID           REG(0xE000ED00)
#define CORTEX_M33      0xD21

static inline bool has_limits(void)
{
    return (CPUID >> 4 & 0xFFF) == CORTEX_M33;
}

/* MSR MSPLIM, r0 and MSR PSPLIM, r0. */

__attribute__((unused)) static inline void set_main_limit(uint32_t limit)
{
    if (has_limits())
        __asm volatile("mov r0, %0\n\t.inst.w 0xF380880A" :: "r"(limit) : "r0");
}

__attribute__((unused)) static inline void set_process_limit(uint32_t limit)
{
    if (has_limits())
        __asm volatile("mov r0, %0\n\t.inst.w 0xF380880B" :: "r"(limit) : "r0");
}

#endif
