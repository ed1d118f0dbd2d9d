/* A vending machine's ledger: coins are booked from one account to the other, and the sum must stay. */

#include <stdio.h>
#include <stdlib.h>

#include "board/chip.h"

enum account { CUSTOMER, BOX, CHANGE, LOST, ACCOUNTS };

struct entry {
    uint8_t from, to;
    int16_t cents;
};

static int32_t balance[ACCOUNTS];
static struct entry journal[16];
static unsigned entries;

static NOINLINE void book(enum account from, enum account to, int cents)
{
    journal[entries++ % COUNT(journal)] = (struct entry){ (uint8_t)from, (uint8_t)to, (int16_t)cents };
    balance[from] -= cents;
    balance[to] += (int16_t)cents;      /* CULPRIT */
}

static NOINLINE void insert_coin(unsigned number)
{
    static const uint8_t coins[] = { 10, 20, 50, 100, 200 };

    balance[CUSTOMER] += coins[number % COUNT(coins)];
}

static NOINLINE void sell(int price)
{
    if (balance[CUSTOMER] < price)
        return;
    book(CUSTOMER, BOX, price);
    if (balance[BOX] > 1000)
        book(BOX, CHANGE, balance[BOX] / 2);
}

/* What is in the box is counted each evening, and written off if there is too much of it. */
static NOINLINE void evening(unsigned day)
{
    if (balance[CHANGE] > 33000)
        book(CHANGE, LOST, balance[CHANGE]);
    if (day % 8 == 0)
        printf("%u\n", day);
}

static NOINLINE void audit(int32_t expected)
{
    int32_t sum = 0;

    for (unsigned i = 0; i < ACCOUNTS; ++i)
        sum += balance[i];
    if (sum != expected)
        abort();
}

int main(void)
{
    static const uint8_t coins[] = { 10, 20, 50, 100, 200 };
    int32_t expected = 0;
    unsigned coin = 0;

    for (unsigned day = 1; day < 100; ++day) {
        for (unsigned i = 0; i < 12; ++i) {
            expected += coins[coin % COUNT(coins)];
            insert_coin(coin++);
            if (i % 2)
                sell(120);
        }
        evening(day);
        if (day % 4 == 0)
            audit(expected);
    }
    return 0;
}
