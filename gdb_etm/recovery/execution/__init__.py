"""From the history to variables and constraints.

- ``builder.py``: goes along the executed instructions: branches, IT blocks, what a return goes to.
- ``exceptions.py``: what the core does on entry and return (Armv8-M ARM, B3.18 to B3.24).
- ``stacking.py``: whether an exception's frame is all there.
"""
