/* The registers of the simulated boards' chip, as a vendor's header has them. */

#ifndef CHIP_H
#define CHIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REG(address)        (*(volatile uint32_t *)(address))

#define SYST_CSR            REG(0xE000E010)
#define SYST_RVR            REG(0xE000E014)
#define SYST_CVR            REG(0xE000E018)
#define NVIC_ISER0          REG(0xE000E100)
#define NVIC_ICER0          REG(0xE000E180)
#define NVIC_ISPR0          REG(0xE000E200)
#define NVIC_IPR0           REG(0xE000E400)
#define SCB_CPUID           REG(0xE000ED00)
#define SCB_ICSR            REG(0xE000ED04)
#define SCB_VTOR            REG(0xE000ED08)
#define SCB_AIRCR           REG(0xE000ED0C)
#define SCB_CCR             REG(0xE000ED14)
#define SCB_SHPR2           REG(0xE000ED1C)
#define SCB_SHPR3           REG(0xE000ED20)
#define SCB_SHCSR           REG(0xE000ED24)
#define SCB_CFSR            REG(0xE000ED28)
#define SCB_HFSR            REG(0xE000ED2C)
#define SCB_MMFAR           REG(0xE000ED34)
#define SCB_BFAR            REG(0xE000ED38)
#define SCB_CPACR           REG(0xE000ED88)
#define MPU_CTRL            REG(0xE000ED94)
#define MPU_RNR             REG(0xE000ED98)
#define MPU_RBAR            REG(0xE000ED9C)
#define MPU_RASR            REG(0xE000EDA0)     /* MPU_RLAR of Armv8-M */
#define MPU_MAIR0           REG(0xE000EDC0)

#define ICSR_PENDSVSET      (1u << 28)
#define CCR_UNALIGN_TRP     (1u << 3)
#define CCR_DIV_0_TRP       (1u << 4)
#define AIRCR_SYSRESETREQ   0x05FA0004u

/* UART0: a weather sensor sends sentences. */
#define UART_DATA           REG(0x40004000)
#define UART_STATUS         REG(0x40004004)
#define UART_CTRL           REG(0x40004008)
#define UART_PERIOD         REG(0x4000400C)
#define UART_RXNE           1u
#define UART_RXIE           1u
#define UART_IRQ            0

/* DMA0 copies COUNT bytes from SRC to DST. */
#define DMA_SRC             REG(0x40020000)
#define DMA_DST             REG(0x40020004)
#define DMA_COUNT           REG(0x40020008)
#define DMA_CTRL            REG(0x4002000C)
#define DMA_STATUS          REG(0x40020010)
#define DMA_ENABLE          1u
#define DMA_IE              2u
#define DMA_DONE            1u
#define DMA_IRQ             2

#define barrier()           __asm volatile("dsb\n\tisb" ::: "memory")
#define irq_disable()       __asm volatile("cpsid i" ::: "memory")
#define irq_enable()        __asm volatile("cpsie i" ::: "memory")
#define COUNT(array)        (sizeof(array) / sizeof(array)[0])
#define NOINLINE            __attribute__((noinline))

/* The program. */
int main(void);

void HardFault_Handler(void);
void MemManage_Handler(void);
void BusFault_Handler(void);
void UsageFault_Handler(void);
void SVC_Handler(void);
void PendSV_Handler(void);
void SysTick_Handler(void);
void UART_Handler(void);
void TIMER_Handler(void);
void DMA_Handler(void);

static inline void systick_start(uint32_t period)
{
    SYST_RVR = period - 1;
    SYST_CVR = 0;
    SYST_CSR = 7;
}

static inline void uart_start(uint32_t period, bool interrupt)
{
    UART_PERIOD = period;
    if (interrupt) {
        UART_CTRL = UART_RXIE;
        NVIC_ISER0 = 1u << UART_IRQ;
    }
}

/* EXC_RETURN to Thread mode and the process stack, without floating point. */
static inline uint32_t return_to_thread(void)
{
    return (SCB_CPUID >> 4 & 0xFFF) == 0xD21 ? 0xFFFFFFBC : 0xFFFFFFFD;
}

#ifdef __cplusplus
}
#endif

#endif
