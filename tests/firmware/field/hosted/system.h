/* What the programs have of the system beside their library. */

#ifndef SYSTEM_H
#define SYSTEM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The program's work: 0 when its own checks hold, or the number of the check that failed. */
unsigned program(void);

/* Instructions since the program began. */
uint32_t system_time(void);

#ifdef __cplusplus
}
#endif

#endif
