@ Every way in which T32 code loads and stores, as a compiler only sometimes writes it.

        .syntax unified
        .cpu    cortex-m7
        .fpu    fpv5-d16
        .thumb
        .text

        .macro  function name
        .p2align 2
        .global \name
        .type   \name, %function
        .thumb_func
\name:
        .endm

@ r0: 64 bytes to work on; r1: a number that goes round in them; returns a sum of what was loaded.
function moves
        push    {r4-r8, lr}
        vpush   {d8, d9}
        mov     r8, r1
        movs    r7, #0
@ Bytes, halfwords and words, with offsets, write-back, registers and signs, aligned or not.
        str     r1, [r0]
        strh    r1, [r0, #4]
        strb    r1, [r0, #6]
        ldr     r2, [r0]
        add     r7, r2
        ldrsb   r2, [r0, #4]
        add     r7, r2
        ldrsh   r2, [r0, #5]
        add     r7, r2
        mov     r3, r0
        str     r2, [r3, #8]!
        ldrh    r2, [r3], #3
        add     r7, r2
        str     r7, [r3]
        ldr     r2, [r3, #1]
        add     r7, r2
        movs    r4, #2
        strb    r7, [r0, r4]
        ldrh    r2, [r0, r4, lsl #1]
        add     r7, r2
        ldr     r2, =0x12345678
        eor     r7, r2
@ Doubles and lists.
        strd    r7, r2, [r0, #16]
        ldrd    r4, r5, [r0, #16]
        add     r7, r4
        eor     r7, r5
        add     r3, r0, #24
        stmia   r3!, {r1, r2, r7}
        stmdb   r3, {r4, r5}
        ldmdb   r3!, {r4-r6}
        add     r7, r5
        ldmia   r3, {r2, r4}
        add     r7, r4
@ Floating point, which is only moved.
        vmov    s16, r7
        vstr    s16, [r0, #40]
        vldr    d8, [r0, #16]
        vstr    d8, [r0, #48]
        vldmia  r0, {s16-s19}
        add     r3, r0, #64
        vstmdb  r3!, {d8, d9}
        vldr    s18, [r0, #48]
        vmov    r2, s18
        add     r7, r2
@ Exclusive, and those that succeed only.
1:      ldrex   r2, [r0, #12]
        add     r2, r8
        strex   r3, r2, [r0, #12]
        cmp     r3, #0
        bne     1b
2:      ldrexb  r2, [r0]
        strexb  r3, r7, [r0]
        cmp     r3, #0
        bne     2b
3:      ldrexh  r2, [r0]
        strexh  r3, r7, [r0]
        cmp     r3, #0
        bne     3b
        add     r7, r2
@ In IT blocks, where some pass and some fail.
        tst     r8, #1
        ittee   ne
        ldrne   r2, [r0, #8]
        strne   r2, [r0, #20]
        ldreq   r2, [r0, #12]
        strheq  r2, [r0, #22]
        add     r7, r2
        cmp     r8, #5
        itt     hi
        ldrdhi  r4, r5, [r0, #24]
        addhi   r7, r5
@ With branches.
        and     r4, r8, #3
        tbb     [pc, r4]
4:      .byte   (5f - 4b) / 2, (6f - 4b) / 2, (7f - 4b) / 2, (5f - 4b) / 2
5:      adds    r7, #1
6:      adds    r7, #2
7:      adr     r4, 8f + 1
        str     r4, [r0, #60]
        ldr     pc, [r0, #60]
        .p2align 2
8:      mov     r0, r7
        vpop    {d8, d9}
        pop     {r4-r8, pc}

        .ltorg
