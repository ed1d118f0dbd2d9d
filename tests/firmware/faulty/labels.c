/* Labels for a printer: each job's text is made on the heap, with a serial number; jobs wait in a queue. */

#include <stdio.h>
#include <stdlib.h>

#include "board/chip.h"

#define LABEL           20

struct job {
    struct job *next;
    char *text;
    uint8_t copies, printed;
};

static struct job *first, **last = &first;
static uint32_t dots;

static const char *const goods[] = { "apple", "pear", "plum", "watermelon", "lemon" };

static NOINLINE void ask_for(unsigned kind, unsigned serial, unsigned copies)
{
    char *text = malloc(LABEL);
    struct job *job = malloc(sizeof *job);

    job->next = NULL;
    job->text = text;
    job->copies = (uint8_t)copies;
    job->printed = 0;
    sprintf(text, "%s #%u lot %u/%u", goods[kind], serial, serial % 90, serial % 32);   /* CULPRIT */
    *last = job;
    last = &job->next;
}

static NOINLINE void print(const char *text)
{
    for (; *text; ++text)
        for (unsigned row = 0; row < 7; ++row)
            dots += (uint32_t)*text >> row & 1;
}

static NOINLINE void serve(void)
{
    struct job *job = first;

    if (job == NULL)
        return;
    print(job->text);
    if (++job->printed < job->copies)
        return;
    first = job->next;
    if (first == NULL)
        last = &first;
    free(job->text);
    free(job);
}

int main(void)
{
    unsigned serial = 60;

    for (unsigned i = 0; i < 80; ++i) {
        if (i % 3 == 0)
            ask_for(i / 3 % COUNT(goods), serial += serial < 70 ? 1 : 1234567890, 1 + i % 2);
        serve();
    }
    return 0;
}
