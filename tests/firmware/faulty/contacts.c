/* A phone book: names and numbers as strings on the heap, kept in order; entries are changed now and then. */

#include <stdlib.h>
#include <string.h>

#include "board/chip.h"

struct contact {
    struct contact *next;
    char *name;
    char number[12];
};

static struct contact *book;
static uint32_t calls;

static const char *const names[] = { "Ida", "Max", "Eve", "Tom", "Zoe", "Ann", "Leo", "Mia", "Ben" };

static NOINLINE char *copy_of(const char *text)
{
    char *copy = malloc(strlen(text) + 1);

    strcpy(copy, text);
    return copy;
}

static NOINLINE struct contact *find(const char *name)
{
    for (struct contact *at = book; at != NULL; at = at->next)
        if (strcmp(at->name, name) == 0)        /* FAULTS */
            return at;
    return NULL;
}

static NOINLINE void insert(const char *name, unsigned number)
{
    struct contact *contact = malloc(sizeof *contact), **link = &book;

    contact->name = copy_of(name);
    memset(contact->number, 0, sizeof contact->number);
    for (unsigned i = 0; i < 6; ++i, number /= 10)
        contact->number[5 - i] = (char)('0' + number % 10);
    while (*link != NULL && strcmp((*link)->name, name) < 0)
        link = &(*link)->next;
    contact->next = *link;
    *link = contact;
}

static NOINLINE void rename_contact(struct contact *contact, const char *name)
{
    strcpy(contact->name, name);        /* CULPRIT */
}

static NOINLINE void call(const char *name)
{
    struct contact *contact = find(name);

    if (contact == NULL)
        return;
    for (const char *digit = contact->number; *digit; ++digit)
        UART_DATA = (uint8_t)*digit;
    ++calls;
}

int main(void)
{
    for (unsigned i = 0; i < COUNT(names); ++i)
        insert(names[i], 430000 + i * 1117);
    for (unsigned i = 0; i < 60; ++i) {
        call(names[i * 4 % COUNT(names)]);
        if (i == 20)
            rename_contact(find("Tom"), "Tim");
        if (i == 40)
            rename_contact(find("Eve"), "Evelyn Featherstone");
    }
    return 0;
}
