"""The trace in SSA form: each write makes a new variable.

- ``segments.py``: where a history is cut; ``runs.py``: instructions that ran one after the other.
- ``trace_ssa.py``: the slots (registers, flags), and the constraints of each executed instruction.
- ``features.py``: what of a core is in use: floating point, stacks, security states.
- ``exception_frames.py``: frames that exceptions pushed for threads that wait, as memory holds them at the end.
- ``stack_limits.py``: what MSPLIM and PSPLIM imply for SP.
"""
