/* What every test program has: how it ends, and the core's registers. */

#ifndef COMMON_H
#define COMMON_H

#include <stdbool.h>
#include <stdint.h>

#define REG(address) (*(volatile uint32_t *)(address))

#define SYST_CSR        REG(0xE000E010)
#define SYST_RVR        REG(0xE000E014)
#define SYST_CVR        REG(0xE000E018)
#define NVIC_ISER0      REG(0xE000E100)
#define NVIC_ISPR0      REG(0xE000E200)
#define NVIC_IPR0       REG(0xE000E400)
#define SCB_ICSR        REG(0xE000ED04)
#define SCB_SHPR2       REG(0xE000ED1C)
#define SCB_SHPR3       REG(0xE000ED20)
#define SCB_CPACR       REG(0xE000ED88)
#define ICSR_PENDSVSET  (1u << 28)

#define barrier()       __asm volatile("dsb\n\tisb" ::: "memory")

/* The program's work: 0 when its own checks hold, or the number of the check that failed. */
unsigned run(void);

/* Where a program ends: well, and in any other way. */
__attribute__((noreturn, noinline)) void finished(void);
__attribute__((noreturn, noinline)) void failed(unsigned check);

#endif
