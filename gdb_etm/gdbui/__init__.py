"""The only room that imports ``gdb``: commands, parameters and events inside GDB, and GDB as a debugger."""
