/* Works a while, interrupted by SysTick, and then crashes in the way that a debugger has asked for. */

#include "../common.h"

#define SHCSR       REG(0xE000ED24)
#define CCR         REG(0xE000ED14)
#define CFSR        REG(0xE000ED28)
#define HFSR        REG(0xE000ED2C)
#define MMFAR       REG(0xE000ED34)
#define BFAR        REG(0xE000ED38)
#define VTOR        REG(0xE000ED08)
#define CPUID       REG(0xE000ED00)
#define MPU_CTRL    REG(0xE000ED94)
#define MPU_RNR     REG(0xE000ED98)
#define MPU_RBAR    REG(0xE000ED9C)
#define MPU_RASR    REG(0xE000EDA0)     /* MPU_RLAR of Armv8-M */
#define MPU_MAIR0   REG(0xE000EDC0)

#define NOTHING     0x30000000u         /* no memory is there */
#define DEVICE      0x40004000u         /* never executed */
#define COUNT       20u

enum way {
    CALL_ODD, CALL_NULL, CALL_EVEN, CALL_UNMAPPED, CALL_DEVICE, JUMP_NULL, RETURN_EVEN, RETURN_UNMAPPED,
    READ, WRITE, UNDEFINED, DIVIDE, UNALIGNED, UNALIGNED_PAIR, GUARDED_READ, GUARDED_WRITE, GUARDED_CALL, GUARDED_STACK,
    OVERFLOW, STACKING, LIMIT, LOCKUP, SUPERVISOR_TWICE, VECTOR,
    EXC_RETURN, FRAME_EVEN, FRAME_UNMAPPED, FRAME_MODE, FRAME_LOST,
};

/* What the debugger asks for; RAM that is not cleared at the start. */
struct order {
    enum way way;
    uint32_t enabled;       /* SHCSR: which faults have their own handlers */
    uint32_t control;       /* of the thread: 0 on the main stack, 2 on its own, 3 and unprivileged */
};

__attribute__((section(".noinit"), used)) volatile struct order order;

/* What the handler saw. */
struct crash {
    uint32_t cfsr, hfsr, mmfar, bfar, exc_return, frame[8];
};

volatile struct crash crash;
static volatile unsigned ticks;
static unsigned numbers[COUNT];
/* The thread's stack, and below it what it must not reach. */
static struct {
    uint64_t guard[64], words[96];
} stack __attribute__((aligned(512)));
#ifdef FLOATS
static volatile float level = 1.5f;
#endif

typedef unsigned function(unsigned, unsigned);

void SysTick_Handler(void)
{
    ++ticks;
#ifdef FLOATS
    level = level * 0.5f + (float)(ticks & 7);
#endif
}

static __attribute__((noinline)) void sort(unsigned *array, unsigned count)
{
    for (unsigned i = 1; i < count; ++i) {
        unsigned value = array[i], j = i;
        for (; j > 0 && array[j - 1] > value; --j)
            array[j] = array[j - 1];
        array[j] = value;
    }
}

static __attribute__((noinline, aligned(4))) unsigned mix(unsigned a, unsigned b)
{
    return (a << 7 | a >> 25) ^ b * 2654435761u;
}

static __attribute__((noinline)) unsigned work(unsigned seed)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < COUNT; ++i)
        numbers[i] = seed = mix(seed, i);
    sort(numbers, COUNT);
    for (unsigned i = 0; i < COUNT; ++i)
        sum = mix(sum, numbers[i]);
#ifdef FLOATS
    float mean = level;
    for (unsigned i = 0; i < 8; ++i)
        mean = mean * 0.75f + (float)(numbers[i] >> 16);
    level = mean;
#endif
    return sum;
}

/* What handlers do when they are to crash. */
__attribute__((used)) uint32_t serve(uint32_t *frame, uint32_t exc_return)
{
    switch (order.way) {
    case EXC_RETURN:        return exc_return & ~8u;    /* Handler mode, in which nothing was interrupted */
    case FRAME_EVEN:        frame[6] = (uint32_t)sort & ~1u; frame[7] &= ~(1u << 24); break;
    case FRAME_UNMAPPED:    frame[6] = NOTHING; break;
    case FRAME_MODE:        frame[7] |= 11; break;
    case FRAME_LOST:
        if (exc_return & 4)
            __asm volatile("msr psp, %0" :: "r"(NOTHING));
        else
            __asm volatile("msr msp, %0\n\tmov lr, %1\n\tbx lr" :: "r"(NOTHING), "r"(exc_return));
        break;
    case SUPERVISOR_TWICE:  __asm volatile("svc #1"); break;
    case VECTOR:            VTOR = NOTHING; __asm volatile("udf #0"); break;
    case STACKING:
        if (exc_return & 4)
            __asm volatile("msr psp, %0" :: "r"((uint32_t)frame));
        break;
    default:                break;
    }
    return exc_return;
}

__attribute__((naked)) void SVC_Handler(void)
{
    __asm volatile(
        "tst    lr, #4\n\t"
        "ite    eq\n\t"
        "mrseq  r0, msp\n\t"
        "mrsne  r0, psp\n\t"
        "mov    r1, lr\n\t"
        "push   {r4, lr}\n\t"
        "bl     serve\n\t"
        "pop    {r4, lr}\n\t"
        "bx     r0");
}

/* Keep what a post-mortem wants, and stop. */
__attribute__((used, noreturn)) void crashed(const uint32_t *frame, uint32_t exc_return)
{
    crash.cfsr = CFSR;
    crash.hfsr = HFSR;
    crash.mmfar = MMFAR;
    crash.bfar = BFAR;
    crash.exc_return = exc_return;
    if ((uint32_t)frame >= 0x20000000u && (uint32_t)frame < 0x20080000u)
        for (unsigned i = 0; i < 8; ++i)
            crash.frame[i] = frame[i];
    if (order.way == LOCKUP)
        (void)REG(NOTHING);
    finished();
}

__attribute__((naked)) void HardFault_Handler(void)
{
    __asm volatile(
        "tst    lr, #4\n\t"
        "ite    eq\n\t"
        "mrseq  r0, msp\n\t"
        "mrsne  r0, psp\n\t"
        "mov    r1, lr\n\t"
        "b      crashed");
}

__attribute__((alias("HardFault_Handler"))) void MemManage_Handler(void);
__attribute__((alias("HardFault_Handler"))) void BusFault_Handler(void);
__attribute__((alias("HardFault_Handler"))) void UsageFault_Handler(void);

static void region(unsigned number, uint32_t base, uint32_t size)
{
    MPU_RNR = number;
    MPU_RBAR = base;
    MPU_RASR = size;
}

/* All code may use all memory, but for what is below the thread's stack. */
static void guard(void)
{
    uint32_t start = (uint32_t)stack.guard, end = start + sizeof stack.guard;

    if ((CPUID >> 4 & 0xFFF) == 0xD21) {
        MPU_MAIR0 = 0xFF;
        region(0, 0 | 1u << 1, (start - 32) | 1);
        region(1, start | 2u << 1 | 1, (end - 32) | 1);     /* read-only for privileged code, never executed */
        region(2, end | 1u << 1, 0x3FFFFFE0u | 1);
    } else {
        region(0, 0, 3u << 24 | 31u << 1 | 1);
        region(1, start, 1u << 28 | 8u << 1 | 1);           /* 512 bytes: no access, never executed */
    }
    MPU_CTRL = 5;
    barrier();
}

static __attribute__((noinline)) unsigned call(function *target, unsigned a, unsigned b)
{
    return target(a, b) + a;
}

static __attribute__((noinline)) unsigned jump(function *target, unsigned a, unsigned b)
{
    return target(a + b, b);
}

static __attribute__((naked, noinline)) unsigned leave(uint32_t to)
{
    __asm volatile("push {r4, lr}\n\tstr r0, [sp, #4]\n\tpop {r4, pc}");
}

static __attribute__((noinline)) unsigned recurse(unsigned a, unsigned b)
{
    volatile unsigned kept[12];

    kept[0] = a;
    kept[11] = b;
    return recurse(mix(a, b), b + 1) + kept[0];
}

static __attribute__((naked, noinline)) void stack_at(uint32_t place)
{
    __asm volatile("mov sp, r0\n\tsvc #0\n\tudf #0");
}

static __attribute__((noinline)) unsigned pair(const volatile uint64_t *from, unsigned a)
{
    return a + (unsigned)(*from >> 32);
}

static __attribute__((noinline)) unsigned divide(unsigned a, unsigned b)
{
    return a / b + a;
}

static __attribute__((noinline)) unsigned fail(unsigned a, unsigned b)
{
    volatile uint32_t *guarded = (volatile uint32_t *)&stack.guard[7];

    switch (order.way) {
    case CALL_ODD:          return call((function *)(NOTHING + 0x15D), a, b);
    case CALL_NULL:         return call((function *)0, a, b);
    case CALL_EVEN:         return call((function *)((uint32_t)mix & ~1u), a, b);
    case CALL_UNMAPPED:     return call((function *)0xDEADBEEFu, a, b);
    case CALL_DEVICE:       return call((function *)(DEVICE + 1), a, b);
    case JUMP_NULL:         return jump((function *)0, a, b);
    case RETURN_EVEN:       return leave((uint32_t)work & ~1u);
    case RETURN_UNMAPPED:   return leave(NOTHING + 3);
    case READ:              return REG(NOTHING + 4 * a) + b;
    case WRITE:             REG(4 * (b & 7)) = a; return b;
    case UNDEFINED:         __asm volatile("udf #255"); return b;
    case DIVIDE:            return divide(a, numbers[0] & 0);
    case UNALIGNED:         return *(volatile uint32_t *)((uint32_t)numbers + 2) + b;
    case UNALIGNED_PAIR:    return pair((const volatile uint64_t *)((uint32_t)numbers + 2), b);
    case GUARDED_READ:      return *guarded + b;
    case GUARDED_WRITE:     *guarded = b; return a;
    case GUARDED_CALL:      return call((function *)((uint32_t)guarded + 1), a, b);
    case GUARDED_STACK:
    case OVERFLOW:
    case LIMIT:             return recurse(a, b);
    case STACKING:          stack_at(0x20000010u); return b;
    case LOCKUP:            return REG(NOTHING) + b;
    default:                __asm volatile("svc #0"); return b;
    }
}

static __attribute__((noinline)) unsigned deeper(unsigned depth, unsigned a)
{
    unsigned b = mix(a, depth), found;

    if (depth == 0)
        found = fail(a & 0xFF, b);
    else
        found = deeper(depth - 1, b);
    return found ^ b;
}

static __attribute__((noreturn, used)) void thread(void)
{
    unsigned sum = work(7);

    sum = work(sum);
    sum += deeper(3, sum);
    failed(sum | 1);
}

/* Go on in the thread, on the main stack or on its own. */
static __attribute__((naked, noreturn)) void enter(uint32_t control, void *stack, void (*start)(void))
{
    __asm volatile("msr psp, r1\n\tmsr control, r0\n\tisb\n\tbx r2");
}

unsigned run(void)
{
    SHCSR = order.enabled;
    CCR |= 1u << 4 | (order.way == UNALIGNED) << 3;
    if (order.way >= GUARDED_READ && order.way <= GUARDED_STACK)
        guard();
    if (order.way == LIMIT)
        /* MSR MSPLIM, R0 */
        __asm volatile("movs r0, #0x20\n\tlsls r0, r0, #24\n\tadds r0, #64\n\t.inst.w 0xF380880A" ::: "r0");
#ifdef FLOATS
    SCB_CPACR = 0xFu << 20;
    barrier();
#endif
    SYST_RVR = 300 - 1;
    SYST_CVR = 0;
    SYST_CSR = 3;
    enter(order.control, stack.words + 96, thread);
}
