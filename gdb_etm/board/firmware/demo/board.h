/* The board m33: what its registers are called. */

#ifndef BOARD_H
#define BOARD_H

#include <stdint.h>

#define REG(address) (*(volatile uint32_t *)(address))

/* Serial port with the weather sensor on its line; interrupt 0. */
#define UART_DATA       REG(0x40004000) /* read: the byte received; write: send a byte */
#define UART_STATUS     REG(0x40004004)
#define UART_CTRL       REG(0x40004008)
#define UART_PERIOD     REG(0x4000400C) /* instructions from one received byte to the next; 0: none come */
#define UART_RXNE       1u              /* in STATUS: a byte is there */
#define UART_RXIE       1u              /* in CTRL: interrupt when a byte is there */

#define UART_IRQ        0u

/* Armv8-M system registers. */
#define SYST_CSR        REG(0xE000E010)
#define SYST_RVR        REG(0xE000E014)
#define SYST_CVR        REG(0xE000E018)
#define NVIC_ISER0      REG(0xE000E100)
#define NVIC_IPR0       REG(0xE000E400)
#define SCB_SHPR3       REG(0xE000ED20)

#define wait_for_interrupt()    __asm volatile("wfi" ::: "memory")
#define disable_interrupts()    __asm volatile("cpsid i" ::: "memory")
#define enable_interrupts()     __asm volatile("cpsie i" ::: "memory")

#endif
