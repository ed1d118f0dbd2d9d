/* A device's settings as JSON: a parser that makes a tree on a heap, what changes it, and a writer. */

#include "heap.h"

#define DURATION        160000
#define DEEPEST         12

enum kind { NOTHING, FALSE, TRUE, NUMBER, STRING, ARRAY, OBJECT };

struct value {
    struct value *next, *child;
    char *name;
    enum kind kind;
    int32_t number;
    char *text;
};

struct reader {
    const char *at, *end;
    unsigned depth;
    const char *error;
};

struct writer {
    char *at, *end;
    bool full;
    unsigned flushes;
    void (*flush)(struct writer *writer);
};

static uint64_t area[700];
static struct heap heap;

static struct value *value_new(enum kind kind)
{
    struct value *value = heap_allocate(&heap, sizeof *value);

    if (value != NULL) {
        memset(value, 0, sizeof *value);
        value->kind = kind;
    }
    return value;
}

static void value_free(struct value *value)
{
    while (value != NULL) {
        struct value *next = value->next;
        value_free(value->child);
        heap_free(&heap, value->name);
        heap_free(&heap, value->text);
        heap_free(&heap, value);
        value = next;
    }
}

/* The reader. */

static struct value *read_value(struct reader *in);

static int next_character(struct reader *in)
{
    while (in->at < in->end && (*in->at == ' ' || *in->at == '\n'))
        ++in->at;
    return in->at < in->end ? *in->at : -1;
}

static bool take(struct reader *in, char wanted)
{
    if (next_character(in) != wanted)
        return false;
    ++in->at;
    return true;
}

static char *read_text(struct reader *in)
{
    size_t room = 8, length = 0;
    char *text = heap_allocate(&heap, room);

    while (text != NULL && in->at < in->end && *in->at != '"') {
        char one = *in->at++;
        if (one == '\\' && in->at < in->end) {
            one = *in->at++;
            one = one == 'n' ? '\n' : one == 't' ? '\t' : one;
        }
        if (length + 1 == room) {
            char *longer = heap_resize(&heap, text, room *= 2);
            if (longer == NULL)
                heap_free(&heap, text);
            text = longer;
            if (text == NULL)
                break;
        }
        text[length++] = one;
    }
    if (text == NULL || !take(in, '"')) {
        in->error = "text";
        heap_free(&heap, text);
        return NULL;
    }
    text[length] = 0;
    return text;
}

static struct value *read_number(struct reader *in)
{
    struct value *value = value_new(NUMBER);
    bool negative = take(in, '-');
    int32_t number = 0;

    while (in->at < in->end && *in->at >= '0' && *in->at <= '9')
        number = number * 10 + (*in->at++ - '0');
    if (value != NULL)
        value->number = negative ? -number : number;
    return value;
}

static struct value *read_word(struct reader *in, const char *word, enum kind kind)
{
    for (; *word != 0; ++word, ++in->at)
        if (in->at == in->end || *in->at != *word) {
            in->error = "word";
            return NULL;
        }
    return value_new(kind);
}

static struct value *read_list(struct reader *in, enum kind kind, char close)
{
    struct value *list = value_new(kind), **last;

    if (list == NULL || ++in->depth > DEEPEST) {
        in->error = "depth";
        return list;
    }
    last = &list->child;
    while (in->error == NULL && !take(in, close)) {
        char *name = NULL;
        if (kind == OBJECT && (!take(in, '"') || (name = read_text(in)) == NULL || !take(in, ':')))
            in->error = "name";
        struct value *value = in->error == NULL ? read_value(in) : NULL;
        if (value == NULL) {
            heap_free(&heap, name);
            in->error = in->error != NULL ? in->error : "value";
            break;
        }
        value->name = name;
        *last = value;
        last = &value->next;
        take(in, ',');
    }
    --in->depth;
    return list;
}

static struct value *read_value(struct reader *in)
{
    struct value *value;

    switch (next_character(in)) {
    case '{':
        ++in->at;
        return read_list(in, OBJECT, '}');
    case '[':
        ++in->at;
        return read_list(in, ARRAY, ']');
    case '"':
        ++in->at;
        value = value_new(STRING);
        if (value != NULL)
            value->text = read_text(in);
        return value;
    case 't':
        return read_word(in, "true", TRUE);
    case 'f':
        return read_word(in, "false", FALSE);
    case 'n':
        return read_word(in, "null", NOTHING);
    case '-':
    case '0': case '1': case '2': case '3': case '4': case '5': case '6': case '7': case '8': case '9':
        return read_number(in);
    default:
        in->error = "character";
        return NULL;
    }
}

/* The writer. */

static void put(struct writer *out, char one)
{
    if (out->at == out->end && out->flush != NULL)
        out->flush(out);
    if (out->at < out->end)
        *out->at++ = one;
    else
        out->full = true;
}

static void put_text(struct writer *out, const char *text)
{
    put(out, '"');
    for (; *text != 0; ++text) {
        if (*text == '"' || *text == '\\' || *text == '\n') {
            put(out, '\\');
            put(out, *text == '\n' ? 'n' : *text);
        } else {
            put(out, *text);
        }
    }
    put(out, '"');
}

static void put_number(struct writer *out, int32_t number)
{
    char digits[12];
    unsigned count = 0;
    uint32_t rest = number < 0 ? 0u - (uint32_t)number : (uint32_t)number;

    if (number < 0)
        put(out, '-');
    do
        digits[count++] = (char)('0' + rest % 10);
    while ((rest /= 10) != 0);
    while (count != 0)
        put(out, digits[--count]);
}

static __attribute__((noipa)) void write_value(struct writer *out, const struct value *value)
{
    static const char *const words[] = { "null", "false", "true" };

    if (value->kind == NUMBER) {
        put_number(out, value->number);
    } else if (value->kind == STRING) {
        put_text(out, value->text != NULL ? value->text : "");
    } else if (value->kind < NUMBER) {
        for (const char *word = words[value->kind]; *word != 0; ++word)
            put(out, *word);
    } else {
        put(out, value->kind == ARRAY ? '[' : '{');
        for (const struct value *child = value->child; child != NULL; child = child->next) {
            if (child->name != NULL) {
                put_text(out, child->name);
                put(out, ':');
            }
            write_value(out, child);
            if (child->next != NULL)
                put(out, ',');
        }
        put(out, value->kind == ARRAY ? ']' : '}');
    }
}

/* What is done with it. */

static struct value *find(const struct value *object, const char *name)
{
    for (struct value *child = object->child; child != NULL; child = child->next)
        if (child->name != NULL && strcmp(child->name, name) == 0)
            return child;
    return NULL;
}

static void append(struct value *array, int32_t number)
{
    struct value **last = &array->child, *value = value_new(NUMBER);
    unsigned count = 0;

    while (*last != NULL) {
        last = &(*last)->next;
        ++count;
    }
    if (value == NULL)
        return;
    value->number = number;
    *last = value;
    if (count >= 8) {
        struct value *first = array->child;
        array->child = first->next;
        first->next = NULL;
        value_free(first);
    }
}

static bool change(struct value *root, unsigned round)
{
    struct value *channels = find(root, "channels"), *channel = channels != NULL ? channels->child : NULL;
    unsigned number = 0;

    for (; channel != NULL; channel = channel->next, ++number) {
        struct value *values = find(channel, "values"), *on = find(channel, "on"), *gain = find(channel, "gain");
        if (values == NULL || on == NULL || gain == NULL)
            return false;
        append(values, (int32_t)(SAMPLE(number) & 0xFFF) - 2048);
        on->kind = (SWITCHES >> number & 1) != 0 ? TRUE : FALSE;
        gain->number += round % 7 == number ? 10 : -1;
    }
    return number != 0;
}

static int32_t total(const struct value *value)
{
    int32_t sum = value->kind == NUMBER ? value->number : value->kind == STRING ? (int32_t)strlen(value->text) : 1;

    for (const struct value *child = value->child; child != NULL; child = child->next)
        sum = sum * 3 + total(child);
    return sum;
}

static const char factory[] =
    "{\"name\": \"pump \\\"A\\\"\", \"version\": 3, \"limits\": {\"low\": -40, \"high\": 125, \"unit\": null},\n"
    " \"channels\": [\n"
    "  {\"id\": 1, \"on\": true, \"gain\": 100, \"values\": []},\n"
    "  {\"id\": 2, \"on\": false, \"gain\": -25, \"values\": [7, 8]},\n"
    "  {\"id\": 3, \"on\": false, \"gain\": 1, \"values\": [-1, 0, 1], \"note\": \"spare\\n\"}]}";

unsigned program(void)
{
    static char texts[2][512];
    const char *text = factory;
    size_t length = sizeof factory - 1;
    unsigned round = 0;
    size_t whole;

    lib_time_begin();
    heap_begin(&heap, area, sizeof area);
    whole = heap.left;
    for (; lib_time() < DURATION; ++round) {
        struct reader in = { text, text + length, 0, NULL };
        struct writer out = { texts[round & 1], texts[round & 1] + sizeof texts[0], false, 0, NULL };
        struct value *root = read_value(&in);
        if (root == NULL || in.error != NULL || !change(root, round) || total(root) == 0)
            return 2;
        write_value(&out, root);
        value_free(root);
        if (out.full || heap.left != whole)
            return 3;
        text = texts[round & 1];
        length = (size_t)(out.at - text);
    }
    return round > 2 && heap.failures == 0 ? 0 : 4;
}
