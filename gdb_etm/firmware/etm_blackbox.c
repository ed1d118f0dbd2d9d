/*
 * The black box; etm_blackbox.h says how to use it.
 *
 * SPDX-License-Identifier: MIT
 *
 * Registers are those of the ETMv4 (IHI 0064), the ETMv3 (IHI 0014), the PTM (IHI 0035), the MTB (DDI 0486), the ETB
 * (DDI 0314) and the TMC (DDI 0461); which component is which, CoreSight (IHI 0029) says.
 */

#include "etm_blackbox.h"

#ifndef ETM_BLACKBOX_SECTION
#define ETM_BLACKBOX_SECTION ".noinit"
#endif
#ifndef ETM_BLACKBOX_ID
#define ETM_BLACKBOX_ID 0x10
#endif
#ifndef ETM_BLACKBOX_PORTS
#define ETM_BLACKBOX_PORTS 0xffu
#endif

#define KEPT __attribute__((section(ETM_BLACKBOX_SECTION), used))
#define REG(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define SCS 0xe000e000u

/* The processor's own ROM table; that of a Cortex-M7 lists the usual one. */
#ifdef ETM_BLACKBOX_ROM
#define ROM_TABLE ETM_BLACKBOX_ROM
#elif ETM_BLACKBOX_A
#ifndef ETM_BLACKBOX_UNIT
#error "where is the ROM table?  -DETM_BLACKBOX_ROM=ADDRESS, or the addresses of the components"
#endif
#elif defined __ARM_ARCH_7EM__
#define ROM_TABLE (REG(SCS + 0xd00) << 16 >> 20 == 0xc27 ? 0xe00fe000u : 0xe00ff000u)
#else
#define ROM_TABLE 0xe00ff000u
#endif

/* An Armv6-M core has no trace unit but an MTB. */
#if defined ETM_BLACKBOX_MTB || defined __ARM_ARCH_6M__
#define HAS_ETM 0
#else
#define HAS_ETM 1
#endif

/* MTB_MASTER.MASK: the size of its buffer is 16 bytes times two to that. */
#define MTB_MASK ((uint32_t)__builtin_ctz(ETM_BLACKBOX_BYTES / 16))

/* A step of a script: what is done to a register at an offset. */
struct step {
    uint16_t what, value;
};

enum { WRITE = 0, HIGH = 0x1000, WAIT = 0x2000, KEEP = 0x3000, END = 0x4000 };
enum { OFFSET = 0xfff };

/* Polls: a unit that does not answer must not hold up a crash. */
enum { PATIENCE = 1 << 13 };

KEPT struct etm_blackbox etm_blackbox;
KEPT __attribute__((aligned(ETM_BLACKBOX_BYTES))) uint32_t etm_blackbox_trace[ETM_BLACKBOX_BYTES / 4];
/* The stack of a crash may be what is broken.  In bytes; of a Cortex-A its lowest ones keep the registers. */
#if ETM_BLACKBOX_A
#define STACK 288
#else
#define STACK 192
#endif
#define TEXT_OF(number) #number
#define AS_TEXT(number) TEXT_OF(number)
KEPT __attribute__((aligned(8))) uint32_t etm_blackbox_stack[STACK / 4];

/* What etm_blackbox_fault writes to stop the unit, where and what; and where it keeps the registers: while it does not
   trace, where they do no harm to what is kept. */
struct {
    volatile uint32_t *address;
    uint32_t value;
#if ETM_BLACKBOX_A
} etm_blackbox_stop = {&etm_blackbox_stop.value, 0};
#else
#define NOWHERE etm_blackbox_stack
    void *core;
} etm_blackbox_stop = {&etm_blackbox_stop.value, 0, NOWHERE};
#endif

#if ETM_BLACKBOX_A
enum { SYSTEM_WORDS = 5 };
#else
/* ICTR; CPUID to VTOR; SHCSR to BFAR; SFSR and SFAR. */
static const struct step of_system[] = {
    {KEEP | 0x004, 1}, {KEEP | 0xd00, 3}, {KEEP | 0xd24, 6}, {KEEP | 0xde4, 2}, {END, 0},
};
enum { SYSTEM_WORDS = 12 };
#endif
/* Where a script writes that keeps nothing. */
#define NOTHING (etm_blackbox.words + ETM_BLACKBOX_WORDS - 1)

/* Of each unit: stop; keep what says how to read its trace; start. */
#if !ETM_BLACKBOX_A
static const struct step of_mtb[] = {
    {0x004, 0}, {END, 0},
    {KEEP | 0x000, 4}, {END, 0},
    {0x008, 0}, {END, 0},
};
#endif

#if HAS_ETM
/* Open the OS Lock, and ask for power. */
static const struct step of_power[] = {{0x300, 0}, {0x310, 8}, {END, 0}};

#if ETM_BLACKBOX_A
/* ETMCR.ReturnStack, while it traces. */
#define RETURN_STACK 0x2000u

/* Neither triggers nor timestamps; always, and at all addresses; a sync every 512 bytes. */
static const struct step of_ptm[] = {
    {0x000, 0x400}, {WAIT | 0x010, 2}, {END, 0},
    {KEEP | 0x000, 2}, {KEEP | 0x1e4, 2}, {KEEP | 0x200, 1}, {END, 0},
    {0x200, ETM_BLACKBOX_ID}, {0x008, 0x406f}, {0x1f8, 0x406f}, {0x020, 0x6f}, {HIGH | 0x024, 0x100}, {0x1f0, 0},
    {0x1e0, 0x200}, {HIGH | 0x000, RETURN_STACK}, {END, 0},
};

#define SCRIPT of_ptm
#else
/* No events, filters, stalls or cycles; a sync every 512 bytes; all that runs. */
static const struct step of_etmv4[] = {
    {0x004, 0}, {WAIT | 0x00c, 1}, {END, 0},
    {KEEP | 0x010, 1}, {KEEP | 0x040, 1}, {KEEP | 0x180, 6}, {KEEP | 0x1e0, 3}, {KEEP | 0xfb8, 2}, {END, 0},
    {0x010, 0x1001}, {0x020, 0}, {0x024, 0}, {0x02c, 0}, {0x030, 0}, {0x034, 9}, {0x03c, 0}, {0x040, ETM_BLACKBOX_ID},
    {0x044, 0}, {0x080, 0x201}, {0x084, 0}, {0x088, 0}, {0x08c, 0}, {0x0a0, 1}, {0x004, 1}, {END, 0},
};

/* Neither triggers nor timestamps; always, and at all addresses. */
static const struct step of_etmv3[] = {
    {0x000, 0xc10}, {WAIT | 0x010, 2}, {END, 0},
    {KEEP | 0x000, 2}, {KEEP | 0x1e4, 2}, {KEEP | 0x200, 1}, {END, 0},
    {0x200, ETM_BLACKBOX_ID}, {0x008, 0x406f}, {0x1f8, 0x406f}, {0x020, 0x6f}, {HIGH | 0x024, 0x100}, {0x1f0, 0},
    {0x000, 0x810}, {END, 0},
};

static const struct step *const of_units[] = {of_mtb, of_etmv4, of_etmv3};
#define SCRIPT of_units[etm_blackbox.kind]
#endif

static const struct step of_sink[] = {
    {0x020, 0}, {WAIT | 0x300, 2}, {0x028, 0}, {0x014, 0}, {0x018, 0}, {0x01c, 0}, {0x308, 9}, {0x304, 3}, {0x020, 1},
    {END, 0},
};

/* Stop when it is flushed, and flush it. */
static const struct step of_flush[] = {{0x304, 0x1003}, {0x304, 0x1043}, {WAIT | 0x300, 2}, {END, 0}};
#else
#define SCRIPT of_mtb
#endif

/* Run a script; the next one follows it. */
static const struct step *run(uint32_t base, const struct step *step, struct etm_blackbox_word *to)
{
    REG(base + 0xfb0) = 0xc5acce55u;
    for (;; ++step) {
        uint32_t what = step->what, address = base + (what & OFFSET), n = step->value;

        if (what >= END) {
            to->address = 0;
            return step + 1;
        }
        if (what >= KEEP) {
            for (; n; --n, address += 4, ++to) {
                to->address = address;
                to->value = REG(address);
            }
        } else if (what >= WAIT) {
            for (unsigned polls = PATIENCE; polls && !(REG(address) & n); --polls)
                ;
        } else {
            REG(address) = n << (what >> 12 << 4);
        }
    }
}

/* Of the trace and of what is after `resets`: polynomial 0xedb88320, least significant bit first. */
static uint32_t checksum(void)
{
    const uint32_t *at = etm_blackbox_trace;
    uint32_t sum = ~0u, left = etm_blackbox.bytes;

    for (;; left -= 4) {
        if (!left)
            at = &etm_blackbox.form;
        if (at == (const uint32_t *)(&etm_blackbox + 1))
            return ~sum;
        sum ^= *at++;
        for (int bit = 32; bit; --bit)
            sum = sum >> 1 ^ (0xedb88320u & -(sum & 1));
    }
}

#if HAS_ETM
/* Read the newest of a buffer that has stopped. */
static void drain(uint32_t sink)
{
    uint32_t size = 4 * REG(sink + 0x004), start = REG(sink + 0x018), bytes;

    etm_blackbox.status = REG(sink + 0x00c);
    /* The pointers of an ETB count words, and it must be off.  A TMC that has stopped gives its oldest word first. */
    if ((REG(sink + 0xfe0) & 0xff) == 0x07) {
        REG(sink + 0x020) = 0;
        REG(sink + 0x014) = etm_blackbox.status & 1 ? start : 0;
        start *= 4;
    }
    etm_blackbox.pointer = bytes = start;
    if (etm_blackbox.status & 1)
        bytes = size;
    for (; bytes > sizeof etm_blackbox_trace; bytes -= 4)
        (void)REG(sink + 0x010);
    etm_blackbox.capacity = size;
    etm_blackbox.bytes = bytes;
    for (uint32_t *to = etm_blackbox_trace; bytes; bytes -= 4)
        *to++ = REG(sink + 0x010);
}
#endif

#if ETM_BLACKBOX_A
#define CP15(number, crn, crm, opc2) \
    do { \
        word[number].address = crn << 16 | crm << 8 | opc2 << 4 | 1; \
        __asm volatile("mrc p15, 0, %0, c" #crn ", c" #crm ", " #opc2 : "=r"(word[number].value)); \
    } while (0)

/* MIDR, DFSR, IFSR, DFAR, IFAR. */
static void keep_system(struct etm_blackbox_word *word)
{
    CP15(0, 0, 0, 0);
    CP15(1, 5, 0, 0);
    CP15(2, 5, 0, 1);
    CP15(3, 6, 0, 0);
    CP15(4, 6, 0, 2);
}

/* Write what the core's caches hold of it to memory (DCCMVAC), in steps of the smallest line; a reset drops them. */
static void clean(const void *from, uint32_t bytes)
{
    const char *at = from;

    for (const char *end = at + bytes; at < end; at += 16)
        __asm volatile("mcr p15, 0, %0, c7, c10, 1" :: "r"(at) : "memory");
    __asm volatile("mcr p15, 0, %0, c7, c10, 1\n\tmcr p15, 0, %1, c7, c10, 4" :: "r"(at - 1), "r"(0) : "memory");
}
#else
#define keep_system(to) run(SCS, of_system, to)
#endif

/* Complete the record of a unit that has stopped. */
static void complete(uint32_t cause)
{
    uint32_t unit = etm_blackbox.unit;
    struct etm_blackbox_word *word = etm_blackbox.words + SYSTEM_WORDS;

    keep_system(etm_blackbox.words);
    run(unit, run(unit, SCRIPT, word), word);
    etm_blackbox.bytes = sizeof etm_blackbox_trace;
#if HAS_ETM
    if (etm_blackbox.sink) {
        run(etm_blackbox.sink, of_flush, NOTHING);
        drain(etm_blackbox.sink);
    }
#endif
    etm_blackbox.form = ETM_BLACKBOX_VERSION << 16 | sizeof etm_blackbox;
    etm_blackbox.resets = 0;
    etm_blackbox.cause = cause;
    etm_blackbox.trace = (uint32_t)(uintptr_t)etm_blackbox_trace;
    etm_blackbox.checksum = checksum();
    etm_blackbox.magic = ETM_BLACKBOX_HOLDS;
#if ETM_BLACKBOX_A
    clean(&etm_blackbox, sizeof etm_blackbox);
    clean(etm_blackbox_trace, sizeof etm_blackbox_trace);
#else
    etm_blackbox_stop.core = NOWHERE;
#endif
}

__attribute__((weak)) void etm_blackbox_done(void)
{
}

/* The end of etm_blackbox_fault, on a stack of its own. */
__attribute__((used, noreturn)) void etm_blackbox_keep(void)
{
    if (etm_blackbox.magic == ETM_BLACKBOX_TRACES) {
#if ETM_BLACKBOX_A
        uint32_t *to = etm_blackbox.core.r0_to_r12;

        /* Volatile: else it may be a call of memcpy. */
        for (const volatile uint32_t *from = etm_blackbox_stack; to < (uint32_t *)etm_blackbox.words;)
            *to++ = *from++;
#else
        etm_blackbox.core.pc = (uint32_t)(uintptr_t)etm_blackbox_fault & ~1u;
#endif
        complete(ETM_BLACKBOX_FAULT);
    }
    etm_blackbox_done();
    for (;;)
        ;
}

/* Keep the registers and stop the unit, without a branch: that would be in the trace. */
#if ETM_BLACKBOX_A
__asm(
    ".pushsection .text.etm_blackbox_fault, \"ax\", %progbits\n"
    ".syntax unified\n"
    ".arm\n"
    ".p2align 2\n"
    /* Of a call R12 is free. */
    ".global etm_blackbox_fault\n"
    ".type etm_blackbox_fault, %function\n"
    "etm_blackbox_fault:\n\t"
    "ldr    r12, 3f\n\t"
    "stmia  r12, {r0-r12}\n\t"
    "ldr    r2, 1f\n\t"
    "ldmia  r2, {r4, r5}\n\t"
    "str    r5, [r4]\n\t"
    "mov    r3, sp\n\t"
    "mov    r4, lr\n\t"
    "mrs    r5, cpsr\n\t"
    "mov    r6, #0\n\t"
    "adr    r7, etm_blackbox_fault\n\t"
    "mov    r8, sp\n\t"
    "mov    r9, lr\n\t"
    "b      2f\n"
    /* Of an exception SP is, which each mode has of its own. */
    ".global etm_blackbox_abort\n"
    ".type etm_blackbox_abort, %function\n"
    "etm_blackbox_abort:\n\t"
    "ldr    sp, 3f\n\t"
    "stmia  sp, {r0-r12}\n\t"
    "ldr    r2, 1f\n\t"
    "ldmia  r2, {r4, r5}\n\t"
    "str    r5, [r4]\n\t"
    "mov    r12, sp\n\t"
    "mov    r3, #0\n\t"
    "mov    r4, lr\n\t"
    "mrs    r5, cpsr\n\t"
    "mrs    r6, spsr\n\t"
    "adr    r7, etm_blackbox_abort\n\t"
    /* User mode's registers are System mode's. */
    "and    r0, r6, #0x1f\n\t"
    "tst    r0, #0xf\n\t"
    "orreq  r0, r0, #0xf\n\t"
    "orr    r0, r0, #0xc0\n\t"
    "orr    r1, r5, #0xc0\n\t"
    "msr    cpsr_c, r0\n\t"
    "mov    r8, sp\n\t"
    "mov    r9, lr\n\t"
    "msr    cpsr_c, r1\n"
    "2:\n\t"
    "cpsid  if\n\t"
    "add    r12, r12, #52\n\t"
    "stmia  r12, {r3-r9}\n\t"
    "ldr    sp, 4f\n\t"
    "bl     etm_blackbox_keep\n"
    "1:     .word etm_blackbox_stop\n"
    "3:     .word etm_blackbox_stack\n"
    "4:     .word etm_blackbox_stack + " AS_TEXT(STACK) "\n"
#ifdef ETM_BLACKBOX_HANDLERS
    ".global Undef_Handler, PAbt_Handler, DAbt_Handler\n"
    ".set    Undef_Handler, etm_blackbox_abort\n"
    ".set    PAbt_Handler, etm_blackbox_abort\n"
    ".set    DAbt_Handler, etm_blackbox_abort\n"
#endif
    ".popsection\n"
#ifdef __thumb__
    ".thumb\n"
#endif
);
#else
__attribute__((naked)) void etm_blackbox_fault(void)
{
    __asm volatile(
        ".syntax unified\n\t"
        "mov    r12, r0\n\t"
        "ldr    r0, 1f\n\t"
        "ldr    r0, [r0, #8]\n\t"
        "stmia  r0!, {r1-r7}\n\t"
        "mrs    r3, xpsr\n\t"
        "ldr    r2, 1f\n\t"
        "ldmia  r2!, {r4, r5}\n\t"
        "str    r5, [r4]\n\t"
        "mov    r4, r8\n\t"
        "mov    r5, r9\n\t"
        "mov    r6, r10\n\t"
        "mov    r7, r11\n\t"
        "stmia  r0!, {r4-r7}\n\t"
        "mov    r1, r12\n\t"
        "mov    r2, sp\n\t"
        "mov    r4, lr\n\t"
        "mrs    r5, msp\n\t"
        "mrs    r6, psp\n\t"
        "mrs    r7, control\n\t"
        "stmia  r0!, {r1-r7}\n\t"
        "mrs    r1, primask\n\t"
        "cpsid  i\n\t"
        "str    r1, [r0]\n\t"
#ifdef __ARM_ARCH_8M_MAIN__
        "movs   r1, #0\n\t"
        "msr    msplim, r1\n\t"
        "msr    psplim, r1\n\t"
#endif
        "ldr    r1, 2f\n\t"
        "mov    sp, r1\n\t"
        "bl     etm_blackbox_keep\n\t"
        ".align 2\n"
        "1:     .word etm_blackbox_stop\n"
        "2:     .word etm_blackbox_stack + " AS_TEXT(STACK) "\n");
}
#endif

#if defined ETM_BLACKBOX_HANDLERS && !ETM_BLACKBOX_A
#define IS_FAULT __attribute__((alias("etm_blackbox_fault")))
IS_FAULT void HardFault_Handler(void);
IS_FAULT void MemManage_Handler(void);
IS_FAULT void BusFault_Handler(void);
IS_FAULT void UsageFault_Handler(void);
IS_FAULT void SecureFault_Handler(void);
#endif

#if HAS_ETM
static void open_funnel(uint32_t base)
{
    REG(base + 0xfb0) = 0xc5acce55u;
    REG(base) |= ETM_BLACKBOX_PORTS;
}
#endif

#if !defined ETM_BLACKBOX_MTB && !defined ETM_BLACKBOX_UNIT
/* Of several cores in a cluster the tables list the units in their order, which is counted in the meantime here. */
#if ETM_BLACKBOX_A
static uint32_t affinity(void)
{
    uint32_t found;

    __asm("mrc p15, 0, %0, c0, c0, 5" : "=r"(found));
    return found & 3;
}
#define IS_OWN etm_blackbox.capacity++ == affinity()
#else
#define IS_OWN 1
#endif

/* Find what the ROM tables list; the MTB's address comes back. */
static uint32_t search(uint32_t table, uint32_t mtb)
{
    for (uint32_t at = table, entry; (entry = REG(at)) != 0; at += 4) {
        uint32_t base = table + (entry & ~0xfffu), type;

        if (!(entry & 1))
            continue;
        if (REG(base + 0xff4) == 0x10)
            mtb = search(base, mtb);
        type = REG(base + 0xfcc) & 0xff;
        if (type == 0x31)
            mtb = base;
#if HAS_ETM
        if (type == 0x12)
            open_funnel(base);
        if (type == 0x13 && IS_OWN)
            etm_blackbox.unit = base;
        if (type == 0x21 || type == 0x32)
            etm_blackbox.sink = base;
#endif
    }
    return mtb;
}
#endif

/* Find unit and buffer; the unit's address comes back. */
static uint32_t find(void)
{
    uint32_t unit = 0, sink = 0;

#if defined ETM_BLACKBOX_MTB
    unit = ETM_BLACKBOX_MTB;
#elif defined ETM_BLACKBOX_UNIT
    unit = ETM_BLACKBOX_UNIT;
    sink = ETM_BLACKBOX_SINK;
#ifdef ETM_BLACKBOX_FUNNEL
    open_funnel(ETM_BLACKBOX_FUNNEL);
#endif
#else
    uint32_t mtb;

    etm_blackbox.unit = etm_blackbox.sink = etm_blackbox.capacity = 0;
    mtb = search(ROM_TABLE, 0);
    unit = etm_blackbox.unit;
    sink = etm_blackbox.sink;
    if (!unit || !sink) {
        unit = mtb;
        sink = 0;
    }
#endif
    etm_blackbox.sink = sink;
    return etm_blackbox.unit = unit;
}

int etm_blackbox_begin(void)
{
    const struct step *script;
    volatile uint32_t *stop;
    uint32_t unit;

    if (etm_blackbox.magic == ETM_BLACKBOX_TRACES)
        complete(ETM_BLACKBOX_RESET);
    if (etm_blackbox.magic == ETM_BLACKBOX_HOLDS && etm_blackbox.bytes <= sizeof etm_blackbox_trace &&
        etm_blackbox.checksum == checksum()) {
        ++etm_blackbox.resets;
        return 1;
    }
    etm_blackbox.magic = 0;
    unit = find();
    if (!unit)
        return 0;
#if ETM_BLACKBOX_A
    /* ETMIDR's major architecture version. */
    if (!etm_blackbox.sink || (REG(unit + 0x1e4) & 0xf00) != 0x300)
        return 0;
    etm_blackbox.kind = ETM_BLACKBOX_IS_PTM;
    run(unit, of_power, NOTHING);
#else
    etm_blackbox.kind = ETM_BLACKBOX_IS_MTB;
#endif
#if HAS_ETM && !ETM_BLACKBOX_A
    if (etm_blackbox.sink) {
        /* DEMCR.TRCENA; DEVARCH. */
        REG(SCS + 0xdfc) |= 1u << 24;
        etm_blackbox.kind = (REG(unit + 0xfbc) & 0xffff) == 0x4a13 ? ETM_BLACKBOX_IS_ETMV4 : ETM_BLACKBOX_IS_ETMV3;
        run(unit, of_power, NOTHING);
    }
#endif
    script = SCRIPT;
    stop = &REG(unit + script->what);
    /* Prog of ETMCR, EN of the others: a debugger that traces is left alone. */
    if ((*stop ^ script->value) & (script->value ? 1u << 10 : 1u << 31 | 1))
        return 0;
    etm_blackbox_stop.address = stop;
    etm_blackbox_stop.value = script->value;
#if ETM_BLACKBOX_A
    etm_blackbox_stop.value |= RETURN_STACK << 16;
#else
    etm_blackbox_stop.core = &etm_blackbox.core;
#endif
    etm_blackbox.magic = ETM_BLACKBOX_TRACES;
#if HAS_ETM
    if (etm_blackbox.sink)
        run(etm_blackbox.sink, of_sink, NOTHING);
#endif
    for (int part = 3; part; --part)
        script = run(unit, script, etm_blackbox.words);
#if !ETM_BLACKBOX_A
    if (!etm_blackbox.sink) {
        REG(unit) = (uint32_t)(uintptr_t)etm_blackbox_trace;
        REG(unit + 4) = 1u << 31 | MTB_MASK;
    }
#endif
    return 0;
}
