"""The program that ran: its bytes, its instructions and its basic blocks.

- ``elf.py``: the one opener of ELF files; ``image.py``: bytes by address; ``ram.py``: what the program changes.
- ``objects.py``: variables, functions and linker symbols, by the symbol table.
- ``isa.py``: what an instruction does to the flow of control, by encoding masks; ``conditions.py``, ``accesses.py``,
  ``barriers.py``, ``transfers.py``, ``futures.py`` and ``untaken.py`` have more of it, in the same way.
- ``blocks.py``: straight runs up to the next instruction that a trace unit reports.
- ``cfi.py``: call frame information (DWARF 5, 6.4).
- ``loaded.py``, ``dropped.py``: debug information of code that the linker dropped.
- ``comparator_limits.py``: where a comparator of instruction addresses may miss.
"""
