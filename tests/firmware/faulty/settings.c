/* Settings by name, with a default each; a profile sets several at once. */

#include "board/lib.h"

struct setting {
    const char *name;
    char value[16];
    struct setting *next;
    uint32_t changes;
};

static struct setting unit = { "unit", "metric", NULL, 0 };
static struct setting place = { "place", "roof", NULL, 0 };
static struct setting rate = { "rate", "9600", NULL, 0 };
static struct setting mode = { "mode", "auto", NULL, 0 };
static struct setting *all;
static uint32_t looked_up;

static const char *const profiles[][4] = {
    { "imperial", "cellar", "19200", "manual" },
    { "metric", "garden", "115200", "auto" },
    { "metric", "north-east corner of hall", "9600", "night" },
};

static NOINLINE void add(struct setting *setting)
{
    setting->next = all;
    all = setting;
}

static NOINLINE struct setting *find(const char *name)
{
    for (struct setting *at = all; at != NULL; at = at->next) {
        ++looked_up;
        if (strcmp(at->name, name) == 0)        /* FAULTS */
            return at;
    }
    return NULL;
}

static NOINLINE bool set(const char *name, const char *value)
{
    struct setting *setting = find(name);

    if (setting == NULL)
        return false;
    strcpy(setting->value, value);      /* CULPRIT */
    ++setting->changes;
    return true;
}

static NOINLINE uint32_t baud(void)
{
    struct setting *setting = find("rate");
    uint32_t value = 0;

    if (setting != NULL)
        for (const char *at = setting->value; *at; ++at)
            value = value * 10 + (uint32_t)(*at - '0');
    return value;
}

static NOINLINE void choose(const char *const *profile)
{
    set("unit", profile[0]);
    set("rate", profile[2]);
    set("mode", profile[3]);
    set("place", profile[1]);
}

int main(void)
{
    add(&unit);
    add(&place);
    add(&rate);
    add(&mode);
    for (unsigned i = 0; i < 60; ++i) {
        choose(profiles[i % 8 == 7 ? 2 : i % 2]);
        for (unsigned times = 0; times < 5; ++times)
            put_number(baud());
    }
    return 0;
}
