"""Which load reads what which store wrote.

- ``cells.py``: accesses by the word of RAM that they touch.
- ``store_forwarding.py``: links between accesses to the same bytes.
- ``waiting.py``: what waits for stores of unknown address; ``changes.py``: what has become known since the last look.
- ``may_alias.py``: stores of unknown address, and what they hide; ``overlaps.py``: what they may have left.
- ``misses.py``, ``grounds.py``: why such a store is assumed to miss; ``dead_stack.py``: memory below the stack pointer;
  ``object_bounds.py``: objects that it cannot reach.
- ``supposed_links.py``: links between which such stores are supposed to miss; ``access_groups.py``: what the others of
  an instruction's kind access; ``circles.py``: such links that nothing but each other speaks for.
- ``symbolic_alias.py``: accesses to a stack whose address is not known: what was pushed is popped again.
- ``traces.py``, ``base_search.py``: where such a stack is, by what is in memory at the end.
- ``trial_links.py``: links that are looked for in a trial, and forgotten.
- ``constant_tables.py``: loads from tables of constants; ``place_search.py``: which constants a pointer leads to.
"""
