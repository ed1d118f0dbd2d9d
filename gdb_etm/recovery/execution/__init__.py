"""From the history to variables and constraints.

- ``builder.py``: goes along the executed instructions: their conditions, IT blocks, events.
- ``branch_targets.py``: what branches computed; ``traced_transfers.py``: loads and stores that were traced.
- ``exception_semantics.py``: what the core does on exception entry and return (Armv8-M ARM, B3.18 to B3.24).
- ``stacking.py``: whether an exception's frame is complete.
- ``exceptions.py``: which code goes on after an exception; ``thread_switches.py``: and which thread.
"""
