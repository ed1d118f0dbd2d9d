@ Functions in assembly language as they are written by hand: without a size, without a type, with labels inside.

        .syntax unified
        .cpu    cortex-m7
        .thumb

        .text
@ Two names, no size; places in it have names of their own.
        .global PendSV_Handler
        .thumb_func
PendSV_Handler:
        .global switch_context
        .thumb_func
switch_context:
        push    {r4, lr}
        movs    r4, #2
pending_again:
        subs    r4, #1
        bne     pending_again
        bl      switch_done
        b       pending_done
        .word   0x12345678
pending_done:
        pop     {r4, pc}

        .global asked
        .type   asked, %function
        .thumb_func
asked:
        adds    r0, #1
        bx      lr

        .global typed
        .type   typed, %function
        .thumb_func
typed:
        adds    r0, #2
        b       untyped

@ The one that has a size, and so debug information; what is behind it has none.
        .global sized
        .type   sized, %function
        .thumb_func
sized:
        lsls    r0, r0, #1
inside:
        cmp     r0, #40
        bhi     inside_end
        adds    r0, #3
inside_end:
        bx      lr
        .size   sized, . - sized

        .global untyped
        .thumb_func
untyped:
        adds    r0, #5
        bx      lr
        .p2align 2
        .global table
        .type   table, %object
        .size   table, 8
table:
        .word   1, 2
