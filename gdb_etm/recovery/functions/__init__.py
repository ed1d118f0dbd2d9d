"""Facts about functions: calls, frames, and what they hold at every point.

- ``calls.py``: the calling convention (AAPCS32, 6.1) as assumptions.
- ``frames.py``: call frame information (DWARF 5, 6.4); ``main_stack.py``: frames that are always at one place.
- ``branches.py``: the control flow graph of a function; ``entries.py``: where other code enters it.
- ``entry_values.py``: forward dataflow over it, in terms of the function's entry (``origins.py``).
- ``escape.py``: frames whose address does not escape; ``losses.py``: what calls do not keep.
- ``functions.py``: all of that, asked at one moment.
"""
