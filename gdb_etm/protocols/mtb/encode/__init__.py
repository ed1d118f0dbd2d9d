"""Micro Trace Buffer packets, written.

- ``encoder.py``: packets of what a core executes.
"""
