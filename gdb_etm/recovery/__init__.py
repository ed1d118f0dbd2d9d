"""Past values of registers and memory, recovered by dataflow analysis.

The facts are the executed instructions, the program, and the state of the halted core.

Executed instructions are one long basic block, so each write of a register or of memory gets a variable of its own
(static single assignment).  Instructions, loads and calls become constraints between variables.  What is known of the
halted core, of constants and of branches that were taken goes through these constraints in both directions, by a
worklist, until nothing more follows.  Each variable's domain is known bits, an interval, and differences from others
(an abstract interpretation; the lattice only ever narrows, so the order of the work does not matter).  Each narrowing
keeps its justification: a value can be explained, and a contradiction names the facts that it rests on.

What is asked for in turn is trusted less, and marked: ``exact`` follows from the trace, the program and the halted
core; ``assumed`` also from the calling convention, call frame information, and what pointers can lead to.

The stages, each of which knows only those before it:

- ``lift/``: an instruction as operations; ``values.py``, ``makers.py`` and ``rules.py``: what is asked,
  answered and relied on.
- ``constraints/``: variables' domains, constraints with their propagators, and the graph of both.
- ``ssa/``: the trace as variables and constraints.
- ``functions/``: calls, frames and what a function holds wherever it came from.
- ``pointers/``: which objects a store's address may lead to.
- ``memory/``: which load reads which store (may-alias), with and without known addresses.
- ``threads/``: a kernel's threads: who was switched out, and where it goes on.
- ``execution/``: goes along the history and builds all of the above; exceptions are here.
- ``solve/``: the worklist, tier after tier, and what is dropped where facts contradict each other.

Above them ``segment.py`` works out one segment of a history, ``queries.py``, ``explain.py`` and ``origins.py`` answer,
``pieces.py`` with ``border.py`` and ``handover.py`` goes back piece by piece as far as somebody asks,
``neighbourhoods.py`` answers at once about any place, ``distrust.py`` remembers what turned out false, ``transfers.py``
finds what devices were told to write, ``contradictions.py`` chooses what to doubt, and ``recovery.py`` is what the rest
of the program calls.  Pure: no files, no clock, no thread.
"""
