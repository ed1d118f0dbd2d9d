"""Doctor: checks of the trace path from processor to buffer.

Each finding quotes the register that proves it.
"""
