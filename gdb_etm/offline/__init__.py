"""ELF files in place of a debugger, for captures in folders.

- ``debugger.py``: functions, source lines and instruction text; it fulfils the session's ``Debugger``.
- ``symbols.py``, ``lines.py``: symbol tables, and the line tables of DWARF 5 (6.2).
- ``locations.py``: ``dispatch``, ``rx.c:121`` or ``*0x304`` as addresses.
- ``program_sources.py``: counts of instructions beside the source.
- ``install.py``: the line in a user's gdbinit.
- ``installed.py``: the version, and whether its modules run compiled.
"""
