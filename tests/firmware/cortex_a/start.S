@ Vector table, start and end of the test programs for a Cortex-A; the handlers are weak, and end the program badly.

        .syntax unified
        .arm

        .section .vectors, "ax"
        b       Reset_Handler
        b       Undefined_Handler
        b       Supervisor_Handler
        b       Prefetch_Handler
        b       Data_Handler
        b       Unexpected_Handler
        b       Interrupt_Handler
        b       Unexpected_Handler

        .text
        .weak   Undefined_Handler, Supervisor_Handler, Prefetch_Handler, Data_Handler, Interrupt_Handler
        .set    Undefined_Handler, Unexpected_Handler
        .set    Supervisor_Handler, Unexpected_Handler
        .set    Prefetch_Handler, Unexpected_Handler
        .set    Data_Handler, Unexpected_Handler
        .set    Interrupt_Handler, Unexpected_Handler

        .global Reset_Handler
        .type   Reset_Handler, %function
Reset_Handler:
        ldr     r0, =_stack_top
        mov     sp, r0
        cps     #0x12                   @ IRQ
        sub     sp, r0, #0x1000
        cps     #0x17                   @ Abort
        sub     sp, r0, #0x1400
        cps     #0x1B                   @ Undefined
        sub     sp, r0, #0x1800
        cps     #0x16                   @ Monitor
        sub     sp, r0, #0x1C00
        cps     #0x13                   @ Supervisor
        ldr     r0, =_data_load
        ldr     r1, =_data_start
        ldr     r2, =_data_end
1:      cmp     r1, r2
        ldrlo   r3, [r0], #4
        strlo   r3, [r1], #4
        blo     1b
        ldr     r1, =_bss_start
        ldr     r2, =_bss_end
        mov     r3, #0
2:      cmp     r1, r2
        strlo   r3, [r1], #4
        blo     2b
        bl      run
        cmp     r0, #0
        bleq    finished
        b       failed

        .global finished
        .type   finished, %function
finished:
        bkpt
        b       finished

        .type   Unexpected_Handler, %function
Unexpected_Handler:
        mvn     r0, #0

        .global failed
        .type   failed, %function
failed:
        bkpt    1
        b       failed

@ Some decoders read four bytes of every instruction, so memory does not end with the code.
        .section .rodata
        .word   0
