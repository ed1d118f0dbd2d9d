/* A console: lines from outside, a table of commands, numbers read and written, expressions, a formatter of its own. */

#include <stdarg.h>

#include "inputs.h"

#define LINE            80
#define WORDS           8
#define CELLS           32
#ifdef __OPTIMIZE__
#define COMMANDS        75
#else
#define COMMANDS        33
#endif

enum status { OK, UNKNOWN, USAGE, SYNTAX, RANGE, DIVISION, STATUSES };

struct sink {
    void (*put)(struct sink *sink, char character);
    char *at, *end;
    unsigned count;
};

struct parameter {
    const char *name;
    int32_t value, low, high;
};

struct command {
    const char *name, *usage;
    enum status (*run)(unsigned count, char **words);
    uint8_t least, most;
};

static struct parameter parameters[] = {
    { "gain", 100, 0, 1000 }, { "offset", -5, -5000, 5000 }, { "limit", 2500, 0, 100000 },
    { "period", 10, 1, 60000 }, { "mode", 0, 0, 3 }, { "speed", 9600, -200000, 200000 },
};
static const char *const messages[STATUSES] = {
    "ok", "unknown command", "usage: %s %s", "not a number", "out of range", "division by zero",
};
static int32_t cells[CELLS];
static unsigned outcomes[STATUSES], handled, printed;
static char line[LINE];
static unsigned filled;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

static int compare(const char *a, const char *b)
{
    while (*a && *a == *b) {
        ++a;
        ++b;
    }
    return (uint8_t)*a - (uint8_t)*b;
}

static void put_out(struct sink *sink, char character)
{
    OUTPUT_BYTE = (uint8_t)character;
    ++sink->count;
    ++printed;
}

static void put_in_buffer(struct sink *sink, char character)
{
    if (sink->at < sink->end)
        *sink->at++ = character;
    ++sink->count;
}

static void pad(struct sink *sink, char with, int count)
{
    while (count-- > 0)
        sink->put(sink, with);
}

static void put_text(struct sink *sink, const char *text, int width, bool left)
{
    int length = 0;

    while (text[length])
        ++length;
    if (!left)
        pad(sink, ' ', width - length);
    for (int i = 0; i < length; ++i)
        sink->put(sink, text[i]);
    if (left)
        pad(sink, ' ', width - length);
}

static __attribute__((noinline)) void put_number(struct sink *sink, uint32_t value, unsigned base, bool negative,
                                                 int width, char with, bool left)
{
    char digits[12];
    int count = 0;

    do {
        unsigned digit = value % base;
        digits[count++] = digit < 10 ? '0' + digit : 'a' + digit - 10;
        value /= base;
    } while (value);
    width -= count + negative;
    if (!left && with == ' ')
        pad(sink, ' ', width);
    if (negative)
        sink->put(sink, '-');
    if (!left && with == '0')
        pad(sink, '0', width);
    while (count > 0)
        sink->put(sink, digits[--count]);
    if (left)
        pad(sink, ' ', width);
}

/* %d %u %x %c %s %%, with a width, and - or 0 before it. */
static __attribute__((noinline)) void format_to(struct sink *sink, const char *format, va_list arguments)
{
    for (; *format; ++format) {
        if (*format != '%') {
            if (*format == '\n')
                sink->put(sink, '\r');
            sink->put(sink, *format);
            continue;
        }
        bool left = false;
        char with = ' ';
        int width = 0;
        for (++format; *format == '-' || *format == '0'; ++format) {
            if (*format == '-')
                left = true;
            else
                with = '0';
        }
        while (is_digit(*format))
            width = width * 10 + *format++ - '0';
        switch (*format) {
        case 'd': {
            int32_t value = va_arg(arguments, int32_t);
            put_number(sink, value < 0 ? -(uint32_t)value : (uint32_t)value, 10, value < 0, width, with, left);
            break;
        }
        case 'u':
            put_number(sink, va_arg(arguments, uint32_t), 10, false, width, with, left);
            break;
        case 'x':
            put_number(sink, va_arg(arguments, uint32_t), 16, false, width, with, left);
            break;
        case 'c':
            sink->put(sink, (char)va_arg(arguments, int));
            break;
        case 's':
            put_text(sink, va_arg(arguments, const char *), width, left);
            break;
        case 0:
            return;
        default:
            sink->put(sink, *format);
        }
    }
}

static void print(const char *format, ...)
{
    struct sink sink = { .put = put_out };
    va_list arguments;

    va_start(arguments, format);
    format_to(&sink, format, arguments);
    va_end(arguments);
}

static unsigned format_in(char *out, unsigned size, const char *format, ...)
{
    struct sink sink = { .put = put_in_buffer, .at = out, .end = out + size - 1 };
    va_list arguments;

    va_start(arguments, format);
    format_to(&sink, format, arguments);
    va_end(arguments);
    *sink.at = 0;
    return sink.count;
}

/* Decimal or 0x, with a sign; stops at the first character that is no digit. */
static __attribute__((noinline)) enum status read_number(const char **text, int32_t *value)
{
    const char *at = *text;
    bool negative = *at == '-';
    uint32_t base = 10, sum = 0, most = negative ? 0x80000000u : 0x7FFFFFFFu;
    unsigned digits = 0;

    if (*at == '-' || *at == '+')
        ++at;
    if (at[0] == '0' && lower(at[1]) == 'x') {
        base = 16;
        at += 2;
    }
    for (;; ++at, ++digits) {
        char c = lower(*at);
        uint32_t digit = is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
        if (digit >= base)
            break;
        if (sum > (most - digit) / base)
            return RANGE;
        sum = sum * base + digit;
    }
    if (digits == 0)
        return SYNTAX;
    *text = at;
    *value = negative ? -sum : sum;
    return OK;
}

static enum status whole_number(const char *text, int32_t *value)
{
    enum status status = read_number(&text, value);

    return status == OK && *text ? SYNTAX : status;
}

static struct parameter *find(const char *name, unsigned length)
{
    for (unsigned i = 0; i < COUNT(parameters); ++i) {
        const char *known = parameters[i].name;
        unsigned at = 0;
        while (at < length && known[at] == name[at])
            ++at;
        if (at == length && known[at] == 0)
            return &parameters[i];
    }
    return 0;
}

static unsigned length_of_name(const char *text)
{
    unsigned length = 0;

    while (lower(text[length]) >= 'a' && lower(text[length]) <= 'z')
        ++length;
    return length;
}

static enum status sum_of_terms(const char **text, int32_t *value);

static enum status factor(const char **text, int32_t *value)
{
    if (**text == '(') {
        ++*text;
        enum status status = sum_of_terms(text, value);
        if (status == OK && *(*text)++ != ')')
            return SYNTAX;
        return status;
    }
    unsigned length = length_of_name(*text);
    if (length > 0) {
        const struct parameter *parameter = find(*text, length);
        if (parameter == 0)
            return SYNTAX;
        *text += length;
        *value = parameter->value;
        return OK;
    }
    return read_number(text, value);
}

static enum status term(const char **text, int32_t *value)
{
    enum status status = factor(text, value);

    while (status == OK && (**text == '*' || **text == '/')) {
        char operator = *(*text)++;
        int32_t right;
        status = factor(text, &right);
        if (status != OK)
            break;
        if (operator == '*') {
            int64_t product = (int64_t)*value * right;
            if (product != (int32_t)product)
                return RANGE;
            *value = product;
        } else {
            if (right == 0)
                return DIVISION;
            *value /= right;
        }
    }
    return status;
}

static enum status sum_of_terms(const char **text, int32_t *value)
{
    enum status status = term(text, value);

    while (status == OK && (**text == '+' || **text == '-')) {
        char operator = *(*text)++;
        int32_t right;
        status = term(text, &right);
        if (status == OK && __builtin_add_overflow(*value, operator == '+' ? right : -right, value))
            return RANGE;
    }
    return status;
}

static enum status on_set(unsigned count, char **words)
{
    struct parameter *parameter = find(words[1], length_of_name(words[1]));
    int32_t value;

    (void)count;
    if (parameter == 0)
        return UNKNOWN;
    enum status status = whole_number(words[2], &value);
    if (status != OK)
        return status;
    if (value < parameter->low || value > parameter->high)
        return RANGE;
    parameter->value = value;
    return OK;
}

static enum status on_get(unsigned count, char **words)
{
    const struct parameter *parameter = find(words[1], length_of_name(words[1]));

    (void)count;
    if (parameter == 0)
        return UNKNOWN;
    print("%s=%d\n", parameter->name, parameter->value);
    return OK;
}

static enum status on_list(unsigned count, char **words)
{
    (void)count;
    (void)words;
    for (unsigned i = 0; i < COUNT(parameters); ++i)
        print("%-8s %7d  %d..%d\n", parameters[i].name, parameters[i].value, parameters[i].low, parameters[i].high);
    return OK;
}

static enum status on_calc(unsigned count, char **words)
{
    const char *text = words[1];
    int32_t value;
    enum status status = sum_of_terms(&text, &value);

    (void)count;
    if (status != OK)
        return status;
    if (*text)
        return SYNTAX;
    print("%d 0x%08x\n", value, value);
    return OK;
}

static enum status on_poke(unsigned count, char **words)
{
    int32_t at, value;
    enum status status = whole_number(words[1], &at);

    (void)count;
    if (status == OK)
        status = whole_number(words[2], &value);
    if (status != OK)
        return status;
    if (at < 0 || at >= CELLS)
        return RANGE;
    cells[at] = value;
    return OK;
}

static enum status on_peek(unsigned count, char **words)
{
    int32_t at, wanted = 1;
    enum status status = whole_number(words[1], &at);

    if (status == OK && count > 2)
        status = whole_number(words[2], &wanted);
    if (status != OK)
        return status;
    if (at < 0 || wanted < 1 || at + wanted > CELLS)
        return RANGE;
    for (; wanted > 0; --wanted, ++at)
        print("%02u: %08x %c\n", at, cells[at], is_digit(cells[at] & 0x7F) ? cells[at] & 0x7F : '.');
    return OK;
}

static enum status on_sum(unsigned count, char **words)
{
    int32_t sum = 0, value;

    for (unsigned i = 1; i < count; ++i) {
        enum status status = whole_number(words[i], &value);
        if (status != OK)
            return status;
        sum += value;
    }
    print("sum of %u: %d, mean %d.%02u\n", count - 1, sum, sum / (int)(count - 1),
          (unsigned)(sum < 0 ? -sum : sum) * 100 / (count - 1) % 100);
    return OK;
}

static enum status on_echo(unsigned count, char **words)
{
    for (unsigned i = 1; i < count; ++i)
        print("%s%c", words[i], i + 1 < count ? ' ' : '\n');
    return OK;
}

static enum status on_stat(unsigned count, char **words)
{
    (void)count;
    (void)words;
    for (unsigned i = 0; i < STATUSES; ++i)
        if (outcomes[i])
            print("%5u ", outcomes[i]);
    print("\n");
    return OK;
}

static const struct command commands[] = {
    { "calc", "EXPRESSION", on_calc, 1, 1 }, { "echo", "WORD...", on_echo, 1, WORDS }, { "get", "NAME", on_get, 1, 1 },
    { "list", "", on_list, 0, 0 }, { "peek", "CELL [COUNT]", on_peek, 1, 2 }, { "poke", "CELL VALUE", on_poke, 2, 2 },
    { "set", "NAME VALUE", on_set, 2, 2 }, { "stat", "", on_stat, 0, 0 }, { "sum", "NUMBER...", on_sum, 1, WORDS },
};

/* The table is in the alphabet's order. */
static const struct command *command_of(const char *name)
{
    unsigned low = 0, high = COUNT(commands);

    while (low < high) {
        unsigned middle = (low + high) / 2;
        int order = compare(name, commands[middle].name);
        if (order == 0)
            return &commands[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return 0;
}

static unsigned split(char *text, char **words)
{
    unsigned count = 0;

    for (;;) {
        while (*text == ' ')
            ++text;
        if (*text == 0 || count == WORDS)
            return count;
        words[count++] = text;
        while (*text && *text != ' ')
            ++text;
        if (*text)
            *text++ = 0;
    }
}

static __attribute__((noinline)) void execute(char *text)
{
    char *words[WORDS];
    unsigned count = split(text, words);
    enum status status = UNKNOWN;

    if (count == 0)
        return;
    const struct command *command = command_of(words[0]);
    if (command) {
        status = USAGE;
        if (count - 1 >= command->least && count - 1 <= command->most)
            status = command->run(count, words);
    }
    ++outcomes[status];
    ++handled;
    if (status == USAGE)
        print(messages[USAGE], command->name, command->usage);
    else
        print("%s", messages[status]);
    print("\n> ");
}

static void take(char character)
{
    if (character == '\r') {
        line[filled] = 0;
        filled = 0;
        execute(line);
    } else if (character == '\b') {
        if (filled > 0)
            --filled;
    } else if (filled < LINE - 1) {
        line[filled++] = lower(character);
    }
}

/* What is written is read back as the same. */
static unsigned check_numbers(void)
{
    static const int32_t numbers[] = { 0, 7, -1, 1999, -2147483647 - 1, 2147483647, -65536 };
    char text[24];

    for (unsigned i = 0; i < COUNT(numbers); ++i) {
        int32_t value = 1;
        format_in(text, sizeof text, i & 1 ? "%12d" : "%-3d", numbers[i]);
        char *words[WORDS];
        if (split(text, words) != 1 || whole_number(words[0], &value) != OK || value != numbers[i])
            return 2 + i;
    }
    if (format_in(text, sizeof text, "%05d|%-4s|%x%c", -42, "ab", 0xBEEF, '!') != 16)
        return 20;
    return compare(text, "-0042|ab  |beef!") == 0 ? 0 : 21;
}

unsigned run(void)
{
    unsigned check = check_numbers();

    if (check)
        return check;
    while (handled < COMMANDS)
        if (CONSOLE_STATUS & 1)
            take((char)CONSOLE_BYTE);
    return outcomes[OK] > COMMANDS / 2 && outcomes[OK] < COMMANDS && printed > COMMANDS ? 0 : 1;
}
