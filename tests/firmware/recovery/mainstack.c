/* The tasks of kernel.c, with MSP on each one's stack: handlers run there, too. */

#define ALL_ON_MSP
#include "kernel.c"
