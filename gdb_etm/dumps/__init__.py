"""Dumps of crashed firmware: memory and registers, in the formats of others.

Each format has a file, which reads bytes and gives a ``Dump``.  What is cut or wrong is one line that says where.

- ``dump.py``: a dump as a value, and the bounded reading of its bytes; ``recognise.py``: which format a file has.
- ``elf_core.py``: ELF core files, as GDB's ``generate-core-file`` and Memfault write them.
- ``zephyr.py``: Zephyr's coredump, as bytes and as lines of a log; ``crash_catcher.py``: CrashCatcher's, likewise.
- ``record.py``: the record that the black box of ``gdb_etm/firmware`` leaves in memory.
- ``unit_files.py``: the registers of a trace unit, in a file.
"""
