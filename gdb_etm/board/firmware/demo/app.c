#include "board.h"
#include "weather.h"

#define HISTORY         16u     /* a power of two */

/* The latest values of one kind. */
struct series {
    q16 history[HISTORY];
    uint32_t total;
    q16 minimum, maximum;
};

static struct series series[KINDS];
static bool frost, storm;

static void statistics_add(struct series *s, q16 value)
{
    if (s->total == 0 || value < s->minimum)
        s->minimum = value;
    if (s->total == 0 || value > s->maximum)
        s->maximum = value;
    s->history[s->total++ % HISTORY] = value;
}

static q16 statistics_mean(const struct series *s)
{
    unsigned count = s->total < HISTORY ? s->total : HISTORY;
    q16 sum = 0;

    if (count == 0)
        return 0;
    for (unsigned i = 0; i < count; ++i)
        sum += s->history[i];
    return sum / (q16)count;
}

static void statistics_add_all(struct series *s, const struct message *message)
{
    for (unsigned i = 0; i < message->count; ++i)
        statistics_add(s, message->values[i]);
}

void on_pressure(const struct message *message)
{
    statistics_add_all(&series[PRESSURE], message);
    storm = message->values[0] < 980 << 16;
}

void on_temperature(const struct message *message)
{
    statistics_add_all(&series[TEMPERATURE], message);
    frost = message->values[0] < 0;
}

void on_humidity(const struct message *message)
{
    statistics_add_all(&series[HUMIDITY], message);
}

/* CRC-16/CCITT-FALSE, bit by bit. */
static uint16_t crc16(const char *data, unsigned length)
{
    uint16_t crc = 0xFFFF;

    for (unsigned i = 0; i < length; ++i) {
        crc ^= (uint16_t)data[i] << 8;
        for (unsigned bit = 0; bit < 8; ++bit)
            crc = crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1;
    }
    return crc;
}

static char *format_unsigned(char *out, uint32_t value)
{
    if (value >= 10)
        out = format_unsigned(out, value / 10);
    *out++ = '0' + value % 10;
    return out;
}

static char *format_q16(char *out, q16 value)
{
    if (value < 0) {
        *out++ = '-';
        value = -value;
    }
    value += 0x10000 / 20;      /* half of the last digit */
    out = format_unsigned(out, value >> 16);
    *out++ = '.';
    return format_unsigned(out, (value & 0xFFFF) * 10u >> 16);
}

static char *format_hex16(char *out, uint16_t value)
{
    for (int shift = 12; shift >= 0; shift -= 4)
        *out++ = "0123456789ABCDEF"[value >> shift & 0xF];
    return out;
}

static void send(const char *text, const char *end)
{
    while (text < end)
        UART_DATA = *text++;
}

/* "T 21.4 H 45.2 -S*1A2B": the means, the warnings of frost and storm, the check sum. */
void report(void)
{
    char line[48], *out = line;

    *out++ = 'T';
    *out++ = ' ';
    out = format_q16(out, statistics_mean(&series[TEMPERATURE]));
    *out++ = ' ';
    *out++ = 'H';
    *out++ = ' ';
    out = format_q16(out, statistics_mean(&series[HUMIDITY]));
    *out++ = ' ';
    *out++ = frost ? 'F' : '-';
    *out++ = storm ? 'S' : '-';
    uint16_t crc = crc16(line, out - line);
    *out++ = '*';
    out = format_hex16(out, crc);
    *out++ = '\n';
    send(line, out);
}
