"""The only room that imports ``gdb``: commands, parameters and events inside GDB, and GDB as a debugger.

- ``start.py``: registers everything; ``scripts/gdb_etm`` calls it.
- ``adapter.py``: declared commands and settings as GDB's own; ``debug_adapter.py``: requests of a debug adapter.
- ``events.py``: what happens in GDB, told to the session.
- ``debugger.py``: GDB as the session's debugger; ``memory_port.py``: registers through its connection;
  ``runner.py``: runs and halts the core for scripts.
- ``places.py``, ``extents.py``, ``line_table.py``, ``there.py``: symbol tables, as stepping and filters need them.
- ``unwinder.py``: frames of the past whose stack pointer is not known.
- ``symbol_files.py``: a second GDB with the same symbols; ``terminal.py``, ``version.py``: this GDB.
"""
