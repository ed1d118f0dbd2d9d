"""Processes beside GDB, with reverse execution on a server or a snapshot.

- ``process.py``: the process that ``etm connect`` starts; it owns the probe.
- ``relay.py``: the process between GDB and another server, such as OpenOCD.
- ``shell.py``: ``gdb-etm replay`` and ``gdb-etm proxy``.
- ``histories.py``: where their history comes from: a trace unit, a snapshot, or the captures of GDB's plug-in;
  registers through the memory packets of any GDB server.
- ``replays.py``: a history as GDB's remote target.
"""
