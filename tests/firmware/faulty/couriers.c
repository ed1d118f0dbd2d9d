/* Couriers with orders in blocks of a kernel's heap, each order with a note for the door. */

#include "board/lib.h"

#define COURIERS        4
#define NOTE            20

struct order;
typedef void deliver_t(struct order *order);

struct order {
    char note[NOTE];
    uint32_t door;
    deliver_t *deliver;
};

/* As known kernels name them. */
static uint8_t ucHeap[1024] __attribute__((aligned(8)));
static void *free_orders;
static size_t used;

static struct order *carried[COURIERS];
static uint32_t delivered, climbed;

static NOINLINE void *pvPortMalloc(size_t size)
{
    void *block = free_orders;

    if (block != NULL) {
        free_orders = *(void **)block;
        return block;
    }
    block = &ucHeap[used];
    used += (size + 7) & ~7u;
    return used <= sizeof ucHeap ? block : NULL;
}

static NOINLINE void vPortFree(void *block)
{
    *(void **)block = free_orders;
    free_orders = block;
}

static NOINLINE void ring(struct order *order) { delivered += order->door; }
static NOINLINE void climb(struct order *order) { climbed += order->door / 100; }

static NOINLINE void write_note(char *note, const char *text, uint32_t floor)
{
    while (*text != 0)
        *note++ = *text++;              /* CULPRIT */
    for (uint32_t at = 0; at < floor; ++at)
        *note++ = '^';                  /* CULPRIT */
    *note = 0;
}

static NOINLINE void take(unsigned number)
{
    struct order *order = pvPortMalloc(sizeof *order);

    order->door = number * 37 % 900;
    order->deliver = number % 3 == 0 ? climb : ring;
    write_note(order->note, number % 2 ? "Ring twice" : "Left door", number == 21 ? 18 : number % 7);
    carried[number % COURIERS] = order;
}

static NOINLINE void hand_over(unsigned courier)
{
    struct order *order = carried[courier];

    if (order == NULL)
        return;
    order->deliver(order);              /* FAULTS */
    carried[courier] = NULL;
    vPortFree(order);
}

int main(void)
{
    for (unsigned number = 0; number < 40; ++number) {
        hand_over(number % COURIERS);
        take(number);
    }
    return 0;
}
