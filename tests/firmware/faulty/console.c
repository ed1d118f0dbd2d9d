/* A console with commands and arguments. */

#include "board/lib.h"

#define WORD            12

typedef void command(const char *argument);

static uint32_t lights, echoed, errors;
static char greeting[40] = "hello";

static const char *const script[] = {
    "on 3", "on 5", "off 3", "echo ok", "name shed", "on 12", "echo ready", "off 5", "on 7", "name barn", "echo x",
    "off 12", "on 1", "name the-old-lighthouse-keepers-cottage-by-the-sea", "on 2",
};

static NOINLINE uint32_t number(const char *text)
{
    uint32_t value = 0;

    for (; *text >= '0' && *text <= '9'; ++text)
        value = value * 10 + (uint32_t)(*text - '0');
    return value;
}

static void on(const char *argument)
{
    lights |= 1u << (number(argument) & 31);
}

static void off(const char *argument)
{
    lights &= ~(1u << (number(argument) & 31));
}

static void echo(const char *argument)
{
    put_text(argument);
    ++echoed;
}

static void name(const char *argument)
{
    if (strlen(argument) < sizeof greeting)
        strcpy(greeting, argument);
}

static const struct {
    const char *name;
    command *run;
} commands[] = { { "on", on }, { "off", off }, { "echo", echo }, { "name", name } };

static NOINLINE command *find(const char *word)
{
    for (unsigned i = 0; i < COUNT(commands); ++i)
        if (strcmp(commands[i].name, word) == 0)
            return commands[i].run;
    return NULL;
}

static NOINLINE void execute(const char *line)
{
    char word[WORD], argument[WORD];
    unsigned at = 0;

    while (line[at] && line[at] != ' ' && at < WORD - 1) {
        word[at] = line[at];
        ++at;
    }
    word[at] = 0;
    while (line[at] == ' ')
        ++at;
    strcpy(argument, line + at);        /* CULPRIT */
    command *run = find(word);
    if (run != NULL)
        run(argument);                  /* FAULTS */
    else
        ++errors;
    put_text(run != NULL ? "ok\n" : "?\n");
}                                       /* FAULTS */

int main(void)
{
    for (unsigned i = 0; i < 60; ++i) {
        execute(script[i % COUNT(script)]);
        put_text(greeting);
    }
    return 0;
}
