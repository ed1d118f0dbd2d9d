/* A buffer on the stack is written past its end, into what the function saved of its caller's r4 to r7. */

#include "inputs.h"

#ifdef __OPTIMIZE__
#define ROUNDS          300
#else
#define ROUNDS          100
#endif

static uint32_t results[16];
static unsigned done, damaged;

/* Writes whatever it is told to, wherever that goes. */
static __attribute__((noinline, used)) void copy(uint8_t *to, const uint8_t *from, unsigned length)
{
    for (unsigned i = 0; i < length; ++i)
        to[i] = from[i];
}

/* Saves r4 to r7 directly above its buffer of 16 bytes, as a compiler would. */
__attribute__((naked, used)) static uint32_t parse(const uint8_t *data __attribute__((unused)),
                                                   unsigned length __attribute__((unused)))
{
    __asm volatile(
        "push   {r4-r7, lr}\n\t"
        "sub    sp, #20\n\t"
        "mov    r4, r0\n\t"
        "mov    r5, r1\n\t"
        "mov    r0, sp\n\t"
        "mov    r1, r4\n\t"
        "mov    r2, r5\n\t"
        "bl     copy\n\t"
        "ldr    r0, [sp]\n\t"
        "ldr    r6, [sp, #8]\n\t"
        "eors   r0, r6\n\t"
        "add    sp, #20\n\t"
        "pop    {r4-r7, pc}");
}

/* Keeps values of its own in r4 to r6 across the call; its caller's it restores. */
__attribute__((naked, noinline)) static uint32_t user(const uint8_t *data __attribute__((unused)),
                                                      unsigned length __attribute__((unused)))
{
    __asm volatile(
        "push   {r4-r7, lr}\n\t"
        "adds   r4, r1, #3\n\t"
        "lsls   r5, r1, #4\n\t"
        "movs   r6, #77\n\t"
        "bl     parse\n\t"
        "adds   r0, r4\n\t"
        "eors   r0, r5\n\t"
        "subs   r0, r6\n\t"
        "pop    {r4-r7, pc}");
}

/* The same in C: what the compiler keeps in registers is what is lost. */
static __attribute__((noinline, used)) uint32_t keep(const uint8_t *data, unsigned length, uint32_t a, uint32_t b)
{
#ifdef __OPTIMIZE__
    uint32_t result = parse(data, length);
#else
    uint32_t result = user(data, length);   /* r7 is the frame pointer here */
#endif
    return result + a * 3 + (b ^ length);
}

/* Calls keep(), and gives its own caller r4 to r7 back. */
__attribute__((naked, noinline)) static uint32_t shield(const uint8_t *data __attribute__((unused)),
                                                        unsigned length __attribute__((unused)),
                                                        uint32_t a __attribute__((unused)),
                                                        uint32_t b __attribute__((unused)))
{
    __asm volatile(
        "push   {r3-r7, lr}\n\t"
        "bl     keep\n\t"
        "pop    {r3-r7, pc}");
}

unsigned run(void)
{
    static uint8_t data[36];
    unsigned seed = 1;

    for (unsigned round = 0; round < ROUNDS; ++round) {
        for (unsigned i = 0; i < sizeof data; ++i) {
            seed = seed * 69069 + 1;
            data[i] = seed >> 24;
        }
        /* Every fourth time up to 16 bytes too many: r4, then r5 and so on; the return address stays. */
        unsigned length = round % 4 == 3 ? 20 + (round >> 2) % 17 : 1 + round % 20;
        if (length > 20)
            ++damaged;
        results[round % COUNT(results)] += user(data, length);
        results[(round + 5) % COUNT(results)] ^= shield(data, length, round, seed);
        ++done;
    }
    return done == ROUNDS && damaged > 20 ? 0 : 1;
}
