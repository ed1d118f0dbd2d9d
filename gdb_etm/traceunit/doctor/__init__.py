"""Why is there no trace: checks of the path from the processor to the buffer, each with the register that proves it."""
