/* A weather station: sentences from the sensor in, a report every so often out. */

#ifndef WEATHER_H
#define WEATHER_H

#include <stdbool.h>
#include <stdint.h>

/* Signed fixed point, 16 bits before and 16 after the binary point. */
typedef int32_t q16;

#define MAX_VALUES      8       /* in one sentence, says the sensor's manual */
#define MAX_SENTENCE    80

enum kind { PRESSURE, TEMPERATURE, HUMIDITY, KINDS };

struct message {
    enum kind kind;
    unsigned count;
    const q16 *values;
};

typedef void (*handler_fn)(const struct message *message);

struct subscription {
    handler_fn handler;
    uint32_t delivered;
};

/* rx.c: from bytes to messages */
void rx_start(uint32_t period);
bool rx_sentence(char *sentence);
bool parse(const char *sentence, struct message *message);
void subscribe(enum kind kind, handler_fn handler);
void dispatch(const struct message *message);

/* app.c: what is done with them */
void on_pressure(const struct message *message);
void on_temperature(const struct message *message);
void on_humidity(const struct message *message);
void report(void);

/* timer.c */
void timer_start(uint32_t reload);
bool timer_due(uint32_t ticks);

#endif
