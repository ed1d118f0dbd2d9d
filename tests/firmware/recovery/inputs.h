/* What reaches the programs from outside: bytes, samples and where outputs go.  A device of the tests' own. */

#ifndef INPUTS_H
#define INPUTS_H

#include "../common.h"

#define INPUT_STATUS    REG(0x40006000)     /* bit 0: a byte is there */
#define INPUT_BYTE      REG(0x40006004)     /* the byte; reading takes it */
#define OUTPUT_BYTE     REG(0x40006008)
#define SAMPLE(channel) REG(0x40006010 + 4 * (channel))
#define OUTPUT(channel) REG(0x40006020 + 4 * (channel))
#define CONSOLE_STATUS  REG(0x40006030)     /* bit 0: a character is there */
#define CONSOLE_BYTE    REG(0x40006034)     /* a character of a command line; reading takes it */
#define SWITCHES        REG(0x40006038)     /* bits 0 to 7: contacts, which bounce */

#define COUNT(array)    (sizeof(array) / sizeof(array)[0])

#endif
