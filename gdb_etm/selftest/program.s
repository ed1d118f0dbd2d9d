@ The program of the self test: T32, and position-independent.  With the symbol BASELINE what Armv6-M has of it, which
@ Armv8-M Baseline has, too.  Every pass adds the same to the checksum in r5.  r0: number of passes.

        .syntax unified
.ifdef BASELINE
        .arch   armv6-m
.else
        .arch   armv7-m
.endif
        .thumb
        .text

start:
        mov     r4, r0
        adr     r7, data
        movs    r5, #0
pass:
        bl      sum             @ a loop
        bl      choose          @ IT blocks, or branches in their place
        movs    r0, #2
        bl      table           @ a table branch, and conditional branches both ways
        movs    r0, #0
        bl      table
        bl      outer           @ calls in calls
load:
        ldr     r1, one_more    @ a literal
        adds    r5, r5, r1
        adr     r2, leaf        @ a call through a register
        adds    r2, r2, #1
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
        movs    r1, #5
again:
        adds    r5, r5, r1
        subs    r1, r1, #1
        bne     again
sum_end:
        bx      lr

choose:
        movs    r1, #0
.ifdef BASELINE
        bne     other
        adds    r5, #7
        b       compared
other:
        adds    r5, #99
compared:
        cmp     r0, r7
        bne     choose_end
        adds    r5, #50
        movs    r1, #9
.else
        ite     eq
        addeq   r5, #7
        addne   r5, #99
        cmp     r0, r7
        itt     eq
        addeq   r5, #50
        moveq   r1, #9
.endif
choose_end:
        bx      lr

table:
.ifdef BASELINE
        adr     r1, cases
        ldrb    r1, [r1, r0]
        lsls    r1, r1, #1
branch:
        add     pc, r1
        .balign 4
cases:
        .byte   (case0 - branch) / 2 - 2, (case1 - branch) / 2 - 2, (case2 - branch) / 2 - 2, 0
.else
        tbb     [pc, r0]
cases:
        .byte   (case0 - cases) / 2, (case1 - cases) / 2, (case2 - cases) / 2, 0
.endif
case0:
        adds    r5, #1
        b       chosen
case1:
        adds    r5, #100
        b       chosen
case2:
        adds    r5, #3
chosen:
        cmp     r0, #0
        beq     table_end
        adds    r5, #13
table_end:
        bx      lr

outer:
        push    {r4, lr}
        bl      middle
        bl      leaf
outer_end:
        pop     {r4, pc}

middle:
        push    {r3, lr}
        bl      leaf
middle_end:
        pop     {r3, pc}

        .balign 4
leaf:
        adds    r5, #11
leaf_end:
        bx      lr

@ An exception that masked interrupts do not hold back.  r7: the data.
interrupt:
        ldr     r0, icsr
.ifdef BASELINE
        movs    r1, #1
        lsls    r1, r1, #31
.else
        mov     r1, #0x80000000
.endif
        str     r1, [r0]        @ ICSR.NMIPENDSET
        dsb
        isb
        nop
interrupted:
        bkpt    #0x5e

handler:
        ldr     r2, [r7, #8]
        adds    r2, #1
        str     r2, [r7, #8]
handler_end:
        bx      lr

trap:
        bkpt    #0x5f

        .balign 4
one_more:
        .word   1000
icsr:
        .word   0xe000ed04
data:
