@ The assembler side of modes.c: handlers, and code that the compiler does not write.

        .syntax unified
        .text

        .macro  function name
        .p2align 2
        .global \name
        .type   \name, %function
\name:
        .endm

        .arm

@ Returns by MOVS, SUBS, LDM with the SPSR and RFE, one each.
function Undefined_Handler
        movs    pc, lr

function Data_Handler
        subs    pc, lr, #4

@ The place to go on is in r12.
function Prefetch_Handler
        movs    pc, r12

function Supervisor_Handler
        stmfd   sp!, {r1-r3, r12, lr}
        bl      supervisor_call
        ldmfd   sp!, {r1-r3, r12, pc}^

function Interrupt_Handler
        sub     lr, lr, #4
        srsdb   sp!, #0x12
        push    {r0-r3, r12, lr}
        bl      interrupt
        pop     {r0-r3, r12, lr}
        rfeia   sp!

function ask
        push    {r4, lr}
        svc     #1
        pop     {r4, pc}

function undefined
        udf     #0
        bx      lr

function load_nothing
        mov     r0, #7
        mov     r1, #0x40000000
        ldr     r2, [r1]
        bx      lr

function store_nothing
        mov     r0, #8
        mov     r1, #0x40000000
        str     r0, [r1]
        bx      lr

function jump_nowhere
        adr     r12, 1f
        mov     r0, #0x40000000
        bx      r0
1:      mov     r0, #9
        bx      lr

function set_context_id
        mcr     p15, 0, r0, c13, c0, 1
        isb
        bx      lr

function interrupts_on
        dsb
        cpsie   i
        isb
        bx      lr

function wait_for_interrupt
        wfi
        bx      lr

@ Branches of every kind under a condition, that run and that do not.
function conditions
        push    {r4, r5, lr}
        mov     r4, r0
        mov     r5, #0
        tst     r4, #1
        addne   r5, r5, #1
        blne    leaf
        cmp     r4, #3
        bleq    leaf
        ldr     r1, =leaf
        blxhi   r1
        add     r5, r5, r0
        and     r1, r4, #3
        ldr     pc, [pc, r1, lsl #2]
        nop
        .word   1f, 2f, 3f, 4f
1:      add     r5, r5, #10
2:      add     r5, r5, #20
        b       4f
3:      adr     r1, 5f
        mov     pc, r1
        nop
4:      cmp     r4, #5
        moveq   r0, r5
        popeq   {r4, r5, pc}
        and     r1, r4, #1
        add     pc, pc, r1, lsl #2
        nop
        nop
5:      mov     r0, r5
        ldmia   sp!, {r4, r5, pc}

function leaf
        add     r0, r0, #1
        bx      lr

@ A32 calls T32 by BLX with an address and by BLX with a register, T32 calls A32.
function call_both
        push    {r4, lr}
        mov     r4, r0
        blx     double_thumb
        mov     r1, r0
        add     r0, r4, #1
        ldr     r2, =back_and_forth
        blx     r2
        add     r0, r0, r1
        pop     {r4, pc}
        .ltorg

        .thumb
        .thumb_func
function double_thumb
        lsls    r0, r0, #1
        bx      lr

        .thumb_func
function back_and_forth
        push    {r4, lr}
        lsls    r0, r0, #1
        blx     leaf
        adds    r0, #1
        bl      it_returns
        pop     {r4, pc}

        .thumb_func
function it_returns
        cmp     r0, #5
        ite     gt
        addgt   r0, #1
        bxle    lr
        subs    r0, #1
        adds    r0, #1
        bx      lr

@ Undefined under a condition that holds, in an IT block.
        .thumb_func
function it_undefined
        cmp     r0, #2
        it      eq
        udfeq   #0
        bx      lr
