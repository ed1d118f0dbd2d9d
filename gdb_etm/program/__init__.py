"""The program that ran: its bytes, its instructions and its basic blocks.

- ``elf.py``: the one opener of ELF files; ``names.py``: the names in them; ``image.py``: bytes by address;
  ``ram.py``: what the program changes.
- ``objects.py``: variables, functions and linker symbols, by the symbol table.
- ``isa.py``: what an instruction does to the flow of control, by encoding masks; ``conditions.py``, ``accesses.py``,
  ``barriers.py``, ``transfers.py``, ``futures.py`` and ``untaken.py`` have more of it, in the same way.
- ``blocks.py``: straight runs up to the next instruction that a trace unit reports; ``plain.py``: what is stepped over
  in search of it.
- ``cfi.py``: call frame information (DWARF 5, 6.4); ``frame_rows.py``: what it leaves out where frames are released.
- ``variables.py``: which member of which static variable is at an address, by debug information or by
  ``data_symbols.py``; ``containers.py``: what is within what; ``datatypes.py``, ``spelling.py``: types and their names;
  ``dies.py``, ``expressions.py``: entries of debug information, and the places that they state;
  ``debug_sections.py`` bounds what is read of it; ``line_programs.py``: line tables.
- ``frame_variables.py``: functions at an address, their parameters (``conventions.py``: their registers), their local
  variables; ``code_entries.py`` finds them by address,
  ``places.py`` the registers and the memory that they are in.
- ``inline_stacks.py``: an instruction's line in its function, through those that were inlined.
- ``stack_changes.py``: where a plain function, or a handler, goes over to another stack.
- ``far_jumps.py``: which BL of a Cortex-M0 is no call.
- ``code_pieces.py``: where instructions are, and where data between them.
- ``loaded.py``, ``dropped.py``: debug information of code that the linker dropped.
- ``modes.py``: modes of an A-profile core, and its banked registers.
- ``comparator_limits.py``: where a comparator of instruction addresses may miss.
"""
