/* The same with debug information of the version before: what was dropped looks different in it. */

#include "dropped.c"
