#include "board.h"
#include "weather.h"

#define RING_SIZE       64u     /* a power of two */

static volatile uint8_t ring[RING_SIZE];
static volatile uint32_t ring_head;     /* written by the interrupt only */
static volatile uint32_t ring_tail;     /* written by the main loop only */

static struct {
    q16 values[MAX_VALUES];
    struct subscription table[KINDS];
} station;

void UART_Handler(void)
{
    while (UART_STATUS & UART_RXNE) {
        uint8_t byte = UART_DATA;
        if (ring_head - ring_tail < RING_SIZE)
            ring[ring_head++ % RING_SIZE] = byte;
    }
}

void rx_start(uint32_t period)
{
    NVIC_IPR0 = 0x40u << 8 * UART_IRQ;
    NVIC_ISER0 = 1u << UART_IRQ;
    UART_CTRL = UART_RXIE;
    UART_PERIOD = period;
}

static bool ring_get(char *byte)
{
    if (ring_head == ring_tail)
        return false;
    *byte = ring[ring_tail++ % RING_SIZE];
    return true;
}

/* Collect bytes; true when a whole sentence has come, without its end of line. */
bool rx_sentence(char *sentence)
{
    static unsigned length;
    char byte;

    while (ring_get(&byte)) {
        if (byte == '\n') {
            sentence[length] = '\0';
            length = 0;
            return true;
        }
        if (byte == '$')
            length = 0;
        if (length < MAX_SENTENCE - 1)
            sentence[length++] = byte;
    }
    return false;
}

/* "21.4" -> 21.4 in Q16.16; leaves *text behind the number. */
static q16 parse_number(const char **text)
{
    uint32_t whole = 0, part = 0, scale = 1;

    while (**text >= '0' && **text <= '9')
        whole = whole * 10 + *(*text)++ - '0';
    if (**text == '.') {
        ++*text;
        while (**text >= '0' && **text <= '9') {
            part = part * 10 + *(*text)++ - '0';
            scale *= 10;
        }
    }
    return (whole << 16) + (part << 16) / scale;
}

static __attribute__((noinline)) unsigned parse_values(const char *text, q16 *values, unsigned limit)
{
    unsigned count = 0;

    while (*text == ',' && count < limit) {
        ++text;
        values[count++] = parse_number(&text);
    }
    return count;
}

static bool starts_with(const char *text, const char *start)
{
    while (*start)
        if (*text++ != *start++)
            return false;
    return true;
}

bool parse(const char *sentence, struct message *message)
{
    if (starts_with(sentence, "$PRS"))
        message->kind = PRESSURE;
    else if (starts_with(sentence, "$TMP"))
        message->kind = TEMPERATURE;
    else if (starts_with(sentence, "$HUM"))
        message->kind = HUMIDITY;
    else
        return false;
    message->values = station.values;
    message->count = parse_values(sentence + 4, station.values, sizeof station.values);
    return message->count > 0;
}

void subscribe(enum kind kind, handler_fn handler)
{
    station.table[kind].handler = handler;
}

void dispatch(const struct message *message)
{
    struct subscription *subscription = &station.table[message->kind];

    ++subscription->delivered;
    subscription->handler(message);
}
