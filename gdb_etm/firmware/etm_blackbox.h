/*
 * A black box for Cortex-M, and for Cortex-A with a PTM: the trace before a crash stays in RAM until it is fetched.
 *
 * SPDX-License-Identifier: MIT
 *
 * Compile etm_blackbox.c into the program (GCC or Clang, C99), and
 *   1. keep the section .noinit as it is at start-up: neither loaded nor cleared;
 *   2. call etm_blackbox_begin() as early as the trace is wanted;
 *   3. put etm_blackbox_fault into the vector table for HardFault and the other faults; of a Cortex-A let the vectors
 *      for undefined instructions and both kinds of abort branch to etm_blackbox_abort.  Or define
 *      ETM_BLACKBOX_HANDLERS, and the CMSIS names are theirs.  Call etm_blackbox_fault too where an assertion fails.
 *
 * Then "etm load --memory etm_blackbox" in GDB, of the target or of a core file, and "gdb-etm fault DUMP" in a shell
 * show what ran.  Configuration, by -D:
 *
 *   ETM_BLACKBOX_BYTES    of trace kept in RAM: a power of two, 64 or more (4096)
 *   ETM_BLACKBOX_SECTION  the section (".noinit")
 *   ETM_BLACKBOX_ID       trace ID (0x10)
 *   ETM_BLACKBOX_MTB      address of a Micro Trace Buffer, where the ROM tables list none or another unit is there, too
 *   ETM_BLACKBOX_UNIT     address of the trace unit, and
 *   ETM_BLACKBOX_SINK     of its ETB or TMC, and
 *   ETM_BLACKBOX_FUNNEL   of the funnel between them, if there is one
 *   ETM_BLACKBOX_PORTS    which ports of funnels are opened, one bit each (0xff)
 *   ETM_BLACKBOX_ROM      of a Cortex-A, address of the ROM table as loads and stores reach it (0xf8800000 of a Zynq-7000)
 *
 * Without addresses the ROM tables are searched; of several PTMs each core takes its own.  On a Cortex-A their pages must
 * be mapped as Device memory, vectors must be A32 code, and what a cache outside of the core holds of the record, such as
 * that of an L2C-310, etm_blackbox_done() must write to memory before a reset.  Registers of the chip's maker, such as clocks of trace, are the
 * program's affair: they come before etm_blackbox_begin().
 */

#ifndef ETM_BLACKBOX_H
#define ETM_BLACKBOX_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ETM_BLACKBOX_BYTES
#define ETM_BLACKBOX_BYTES 4096
#endif

#define ETM_BLACKBOX_VERSION 1u
#define ETM_BLACKBOX_WORDS 26u

/* What etm_blackbox.magic says. */
#define ETM_BLACKBOX_TRACES 0x5254424Du         /* "MBTR": it traces */
#define ETM_BLACKBOX_HOLDS (ETM_BLACKBOX_TRACES + 1u) /* it holds a crash */

enum etm_blackbox_cause {
    /* etm_blackbox_fault was reached: by a fault, or by a call. */
    ETM_BLACKBOX_FAULT = 0,
    /* A reset came while it traced; core and system say nothing. */
    ETM_BLACKBOX_RESET = 1
};

enum etm_blackbox_kind {
    ETM_BLACKBOX_IS_MTB = 0,
    ETM_BLACKBOX_IS_ETMV4 = 1,
    ETM_BLACKBOX_IS_ETMV3 = 2,
    ETM_BLACKBOX_IS_PTM = 3
};

/* A register as it was. */
struct etm_blackbox_word {
    uint32_t address, value;
};

#ifndef ETM_BLACKBOX_A
#if defined __ARM_ARCH_PROFILE && __ARM_ARCH_PROFILE == 'A'
#define ETM_BLACKBOX_A 1
#else
#define ETM_BLACKBOX_A 0
#endif
#endif

#if ETM_BLACKBOX_A
/* The core before the first instruction of etm_blackbox_abort, but for its SP; or of etm_blackbox_fault, but for R12. */
struct etm_blackbox_core {
    uint32_t r0_to_r12[13];
    uint32_t sp, lr, cpsr, spsr, pc;
    /* Of the mode that failed. */
    uint32_t failed_sp, failed_lr;
};
#else
/* The core before the first instruction of etm_blackbox_fault, but for R12, which is in the exception's frame. */
struct etm_blackbox_core {
    uint32_t r1_to_r11[11];
    uint32_t r0, sp, xpsr, lr, msp, psp, control, primask, pc;
};
#endif

/* The record.  All of it is little-endian words. */
struct etm_blackbox {
    uint32_t magic;
    /* CRC-32 (IEEE 802.3) of the trace, and then of what follows `resets`. */
    uint32_t checksum;
    /* How often the program started since. */
    uint32_t resets;
    /* ETM_BLACKBOX_VERSION in the upper half, the bytes of this record in the lower. */
    uint32_t form;
    uint32_t cause;
    uint32_t kind;
    /* Addresses of trace unit and buffer; the latter is 0 of a Micro Trace Buffer. */
    uint32_t unit, sink;
    /* The trace in RAM: where, and how many bytes. */
    uint32_t trace, bytes;
    /* How many bytes the buffer holds: if more than are in RAM, those are the newest.  Of a Micro Trace Buffer its
       registers say this, and what follows. */
    uint32_t capacity;
    /* Where the next byte would have been written in the buffer, and its status register (STS). */
    uint32_t pointer, status;
    struct etm_blackbox_core core;
    /* Registers of the system, and then of the trace unit; address 0 ends them.  An odd address is a register of the
       system control coprocessor: CRn << 16 | CRm << 8 | opc2 << 4 | 1. */
    struct etm_blackbox_word words[ETM_BLACKBOX_WORDS];
};

extern struct etm_blackbox etm_blackbox;
extern uint32_t etm_blackbox_trace[ETM_BLACKBOX_BYTES / 4];

/* Start tracing.  Nonzero: nothing was started, since an earlier crash is kept; fetch it, and then forget it. */
int etm_blackbox_begin(void);

/* Give up what is kept, so that etm_blackbox_begin() starts again. */
static inline void etm_blackbox_forget(void)
{
    etm_blackbox.magic = 0;
}

/* Freeze trace unit and buffer, keep all, and call etm_blackbox_done(); it does not return. */
void etm_blackbox_fault(void);

#if ETM_BLACKBOX_A
/* The same, for the vectors of undefined instructions and aborts. */
void etm_blackbox_abort(void);
#endif

/* What comes after that: the program's own, such as a dump or a reset.  If it returns, or is none, the core waits. */
void etm_blackbox_done(void);

#ifdef __cplusplus
}
#endif

#endif
