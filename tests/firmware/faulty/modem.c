/* A modem's answers: a length in the first byte, then that many; they are taken apart into a table of values. */

#include "board/lib.h"

#define VALUES          24

struct answer {
    uint8_t length;
    uint8_t bytes[15];
};

static struct {
    struct answer answer;
    uint8_t values[VALUES];
    const uint8_t *weights;
    uint32_t answers, sum;
} modem;

static const uint8_t weights[] = { 1, 3, 5, 7, 9, 2, 4, 6 };

/* The modem: now and then it is busy, and says so by a byte of its own. */
static NOINLINE uint8_t ask(unsigned question, unsigned at)
{
    if (at == 0)
        return question % 50 == 49 ? 0xFF : (uint8_t)(3 + question % 11);
    return (uint8_t)(question * 7 + at * 3);
}

static NOINLINE void receive(struct answer *answer, unsigned question)
{
    answer->length = ask(question, 0);
    for (unsigned i = 0; i < answer->length; ++i)
        answer->bytes[i] = ask(question, 1 + i);        /* CULPRIT */
}

static NOINLINE void spread(const struct answer *answer)
{
    for (unsigned i = 0; i < answer->length % VALUES; ++i)
        modem.values[(i * 5) % VALUES] = answer->bytes[i % 15];
}

static NOINLINE uint32_t weigh(void)
{
    uint32_t sum = 0;

    for (unsigned i = 0; i < VALUES; ++i)
        sum += modem.values[i] * (uint32_t)modem.weights[i % COUNT(weights)];   /* FAULTS */
    return sum;
}

int main(void)
{
    modem.weights = weights;
    for (unsigned question = 0; question < 400; ++question) {
        receive(&modem.answer, question);
        spread(&modem.answer);
        if (question % 4 == 0)
            modem.sum += weigh();
        ++modem.answers;
    }
    return 0;
}
