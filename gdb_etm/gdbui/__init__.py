"""The only room that imports ``gdb``: commands, events, and GDB as debugger.

- ``start.py``: registers everything; ``scripts/gdb_etm`` calls it.  ``build.py``: the session and what connects it to
  GDB, when they are first needed.  ``command_line.py``: whether GDB begins quietly; ``terminal.py``: whether a user is
  there.
- ``adapter.py``: commands and settings as GDB's own; ``dispatch.py``: what they do; ``mi.py``: commands of the machine
  interface; ``debug_adapter.py``: requests of a debug adapter; ``styles.py``: GDB's styles; ``window.py``: the TUI
  window; ``margin.py``: counts in the margin of GDB's own listings.
- ``events.py``: GDB's events, passed on to the session; ``interrupts.py``: Ctrl-C in the midst of them; ``posted.py``:
  events for GDB's own loop.
- ``debugger.py``: GDB as the session's debugger; ``target.py``: registers and memory through its connection, and what
  runs and halts the core for scripts; ``running.py``: one run, bounded in time.
- ``places.py``, ``extents.py``, ``there.py``: symbol tables, as stepping and filters need them; ``charset.py``: names
  and other texts from GDB.
- ``reverse.py``: GDB's reverse execution, for the cursor that it shares.
- ``unwinder.py``: frames of the past whose stack pointer is not known.
- ``symbol_files.py``: a second GDB with the same symbols; ``version.py``: this GDB's version.
"""
