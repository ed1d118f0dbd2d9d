#include "dropped.S"
