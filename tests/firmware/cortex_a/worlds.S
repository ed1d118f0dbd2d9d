@ The assembler side of worlds.c: the monitor.

        .syntax unified
        .arch_extension sec
        .text

        .macro  function name
        .p2align 2
        .global \name
        .type   \name, %function
\name:
        .endm

        .arm

@ Changes the security state of who called.
function Monitor_Handler
        push    {r1}
        mrc     p15, 0, r1, c1, c1, 0
        eor     r1, r1, #1
        mcr     p15, 0, r1, c1, c1, 0
        pop     {r1}
        add     r0, r0, #1
        movs    pc, lr

        .p2align 5
monitor_vectors:
        nop
        nop
        b       Monitor_Handler

@ MVBAR, which only Secure state has.
function monitor_on
        ldr     r1, =monitor_vectors
        mcr     p15, 0, r1, c12, c0, 1
        isb
        bx      lr
        .ltorg

@ Into the other security state.
function ask_monitor
        push    {r4, lr}
        smc     #0
        pop     {r4, pc}
