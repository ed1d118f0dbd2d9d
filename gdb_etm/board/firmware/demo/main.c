#include "board.h"
#include "weather.h"

#define BYTE_PERIOD     160     /* instructions from one byte of the sensor to the next */
#define TICK            1900    /* instructions from one SysTick to the next */
#define REPORT_TICKS    4

int main(void)
{
    static char sentence[MAX_SENTENCE];
    struct message message;

    subscribe(PRESSURE, on_pressure);
    subscribe(TEMPERATURE, on_temperature);
    subscribe(HUMIDITY, on_humidity);
    timer_start(TICK);
    rx_start(BYTE_PERIOD);

    for (;;) {
        while (rx_sentence(sentence)) {
            if (parse(sentence, &message))
                dispatch(&message);
        }
        if (timer_due(REPORT_TICKS))
            report();
        wait_for_interrupt();
    }
}
