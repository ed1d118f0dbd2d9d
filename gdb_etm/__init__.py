"""Live reconstruction of Arm ETM and PTM trace inside GDB.

The folders below are the rooms that trace data passes through, in order:
``access``, ``coresight``, ``traceunit``, then a :class:`~gdb_etm.capture.Capture`,
``framing``, ``protocols``, ``history``, ``views``, ``commands`` and ``gdbui``.
"""

__version__ = "0.1.0"
