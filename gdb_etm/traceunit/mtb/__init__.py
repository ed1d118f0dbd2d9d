"""Micro Trace Buffer: its plan and its driver.

- ``capabilities.py``: what it has.
- ``plan.py``: from options to register writes.
- ``unit.py``: attach, program, enable, disable, release.
"""
