@ The program of the self test for Armv7-A and Armv7-R: A32, with two functions in T32, and position-independent.  Every
@ pass adds the same to the checksum in r5, and the same as that for Cortex-M.  r0: number of passes.

        .syntax unified
        .arch   armv7-a
        .arm
        .text

start:
        mov     r4, r0
        adr     r7, data
        mov     r5, #0
pass:
        bl      sum             @ a loop
        blx     choose          @ IT blocks, in T32
        mov     r0, #2
        bl      table           @ a table branch, and conditional branches both ways
        mov     r0, #0
        bl      table
        bl      outer           @ calls in calls
load:
        ldr     r1, one_more    @ a literal
        add     r5, r5, r1
        adr     r2, leaf        @ a call through a register, to T32
        add     r2, r2, #1
        blx     r2
store:
        str     r5, [r7]        @ the program's own log: checksum, and passes to go
        subs    r4, r4, #1
last_store:
        str     r4, [r7, #4]
        bne     pass
done:
        bkpt    #0x5e

sum:
        mov     r1, #5
again:
        add     r5, r5, r1
        subs    r1, r1, #1
        bne     again
sum_end:
        bx      lr

        .thumb
        .thumb_func
choose:
        movs    r1, #0
        ite     eq
        addeq   r5, #7
        addne   r5, #99
        cmp     r0, r7
        itt     eq
        addeq   r5, #50
        moveq   r1, #9
choose_end:
        bx      lr

        .balign 4
        .arm
table:
        adr     r1, cases
        ldr     r1, [r1, r0, lsl #2]
branch:
        add     pc, pc, r1
cases:
        .word   case0 - branch - 8, case1 - branch - 8, case2 - branch - 8
case0:
        add     r5, r5, #1
        b       chosen
case1:
        add     r5, r5, #100
        b       chosen
case2:
        add     r5, r5, #3
chosen:
        cmp     r0, #0
        beq     table_end
        add     r5, r5, #13
table_end:
        bx      lr

outer:
        push    {r4, lr}
        bl      middle
        blx     leaf
outer_end:
        pop     {r4, pc}

middle:
        push    {r3, lr}
        blx     leaf
middle_end:
        pop     {r3, pc}

        .thumb
        .thumb_func
leaf:
        adds    r5, #11
leaf_end:
        bx      lr

        .arm
@ An exception that nothing masks.  r7: the data.
interrupt:
        nop
        svc     #0x5e
        nop
interrupted:
        bkpt    #0x5e

handler:
        ldr     r2, [r7, #8]
        add     r2, r2, #1
        str     r2, [r7, #8]
handler_end:
        movs    pc, lr

trap:
        bkpt    #0x5f

one_more:
        .word   1000
data:
