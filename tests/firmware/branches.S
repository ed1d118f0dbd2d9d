@ Every way in which T32 code goes elsewhere, as a compiler only sometimes writes it.

        .syntax unified
@ For every core that has Thumb-2.
        .thumb
        .text

        .macro  function name
        .p2align 2
        .global \name
        .type   \name, %function
        .thumb_func
\name:
        .endm

@ IT blocks of every length, with instructions that fail and that pass; flags change inside the last.
function it_blocks
        movs    r1, #0
        cmp     r0, #5
        it      eq
        addeq   r1, #1
        ite     gt
        addgt   r1, #2
        addle   r1, #4
        ittet   cs
        addcs   r1, #8
        addcs   r1, #16
        addcc   r1, #32
        addcs.w r1, r1, #64
        cmp     r0, #8
        itttt   lt
        addlt   r1, #1
        addlt.w r1, r1, #1
        cmplt   r0, #3
        addlt   r1, #1
        mov     r0, r1
        bx      lr

@ A loop whose body is stores inside IT blocks: r0 out, r1 in, r2 count.
function it_stores
        push    {r4, lr}
        movs    r4, #0
1:      ldrsh   r3, [r1], #2
        cmp     r3, #0
        itt     gt
        strhgt  r3, [r0]
        strhgt  r3, [r0, #2]
        it      gt
        addgt   r4, #1
        adds    r0, #4
        subs    r2, #1
        bne     1b
        mov     r0, r4
        pop     {r4, pc}

@ Branches as the last instruction of an IT block: BX, POP, B, LDR.
function it_exits
        cmp     r0, #0
        itt     eq
        moveq   r0, #100
        bxeq    lr
        push    {r4, lr}
        cmp     r0, #1
        itt     eq
        moveq   r0, #201
        popeq   {r4, pc}
        cmp     r0, #2
        it      eq
        beq.w   1f
        cmp     r0, #3
        ite     ne
        movne   r4, #0
        ldreq   pc, =2f + 1
        pop     {r4, pc}
1:      movw    r0, #302
        pop     {r4, pc}
2:      movw    r0, #403
        ldmia   sp!, {r4, pc}
        .ltorg

@ CBZ and CBNZ, taken and not.
function compare_zero
        cbz     r0, 2f
        movs    r1, #0
1:      adds    r1, r0
        subs    r0, #1
        cbz     r0, 3f
        b       1b
2:      movs    r1, #77
        cbnz    r1, 3f
        nop
3:      mov     r0, r1
        bx      lr

function pop_pc
        push    {r0, r4-r7, lr}
        bl      leaf
        adds    r0, #10
        add     sp, #4
        pop     {r4-r7, pc}

@ LDM with the base not SP, and LDMDB.
function ldm_pc
        push    {r4, lr}
        mov     r4, sp
        sub     sp, #8
        lsls    r1, r0, #31
        bne     1f
        adds    r0, #21
        mov     sp, r4
        add     sp, #8
        ldmia   r4, {r4, pc}
1:      adds    r0, #21
        add     r1, r4, #8
        mov     sp, r1
        ldmdb.w r1, {r4, pc}

@ LDR to the PC: from a table by register, then from the stack.
function ldr_pc
        push    {r0, lr}
        adr     r1, 3f
        and     r2, r0, #1
        ldr.w   pc, [r1, r2, lsl #2]
        .p2align 2
3:      .word   1f + 1, 2f + 1
1:      nop
2:      add     r0, r0, r0, lsl #1
        adds    r0, #30
        ldr     r1, [sp], #4
        ldr     pc, [sp], #4

@ MOV and ADD to the PC.
function mov_pc
        and     r1, r0, #1
        lsls    r1, #1
        add     pc, r1
        nop
        nop
        nop
        adds    r0, #41
        mov     pc, lr

@ The last call is a branch: B.W by name, BX by register.
function tail_call
        adds    r0, #50
        tst     r0, #1
        beq.w   leaf
        push    {r4, lr}
        bl      leaf
        ldr     r3, =leaf
        pop     {r4, lr}
        bx      r3
        .ltorg

@ B<c>.W and B.W over a distance, forward and back.
function wide_branches
        cmp     r0, #2
        bcs.w   2f
1:      b.w     3f
        .space  1200
2:      adds    r0, #10
        b.w     1b
        .space  600
3:      adds    r0, #60
        bx      lr

@ BL and BLX that run or not, in an IT block.
function conditional_calls
        push    {r4, lr}
        mov     r4, r0
        ldr     r3, =leaf
        cmp     r4, #1
        it      gt
        blgt    leaf
        ldr     r3, =leaf
        cmp     r4, #1
        it      hi
        blxhi   r3
        pop     {r4, pc}
        .ltorg
