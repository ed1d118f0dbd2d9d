/* Sets the main stack's limit before the program runs, as start-up code for Armv8-M does; other cores have none. */

#include "limits.h"

#define MAIN_STACK      4096

extern uint32_t _stack_top[];

unsigned __real_run(void);
unsigned __wrap_run(void);

unsigned __wrap_run(void)
{
    set_main_limit((uint32_t)_stack_top - MAIN_STACK);
    unsigned check = __real_run();
    barrier();      /* not a tail call */
    return check;
}
