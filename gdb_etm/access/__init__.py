"""Reaching registers: the access port, pyOCD's, the process beside GDB that owns it, and recordings of it.

What GDB's own Python loads from here (``port``, ``wire``, ``stream``, ``client``, ``recording``) needs the standard
library only; ``server`` and what it imports run in the process that has pyOCD.
"""
