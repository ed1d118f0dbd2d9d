"""Live reconstruction of Arm ETM and PTM trace inside GDB.

For scripts, inside GDB or outside::

    import gdb_etm

    with gdb_etm.connect("board:m33", elf="demo.elf") as session:
        session.start()
        session.run_to("HardFault_Handler")
        for call in session.capture().history().functions():
            print(call.name)

The names are those of :mod:`gdb_etm.api`; they are imported when one of them is first used, because GDB imports this
package whenever it starts.

The folders below are the rooms that trace data passes through, in order:
``access``, ``coresight``, ``traceunit``, then a :class:`~gdb_etm.capture.RawCapture`,
``framing``, ``protocols`` with ``program``, ``history``, ``recovery``, ``diagnosis``, ``views``, ``replay``,
``session``, ``offline``, ``farm`` and ``beside``, ``commands``, ``gdbui``, ``api`` and ``unattended``.
``docs/design`` tells more.
"""

from __future__ import annotations

__version__ = "0.1.0"

__all__ = [
    "BadValue",
    "Breakpoint",
    "Call",
    "CallKind",
    "Capture",
    "Chain",
    "ChainStep",
    "Counter",
    "EtmError",
    "Fault",
    "FaultVerdict",
    "Finding",
    "History",
    "Instruction",
    "Recorded",
    "Session",
    "Step",
    "Stop",
    "Thread",
    "Tier",
    "TracePlan",
    "Value",
    "Write",
    "Written",
    "connect",
    "current",
    "load",
]


def __getattr__(name: str) -> object:
    # By name, not by an import statement: no room may depend on the interface by way of the package itself.
    if name not in __all__:
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    from importlib import import_module

    return getattr(import_module("gdb_etm.api"), name)
