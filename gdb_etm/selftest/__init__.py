"""The self test: a known program, traced and compared.

What should come out is known without the decoder: from the listing of the program, from the core's single steps, and
from what the program leaves in memory.  Each step switches on one thing of the trace unit that must then show.

- ``program.s``, ``program_a.s``, ``program.py``: the program: sources, bytes, path, and what it leaves behind.
- ``tested.py``: what is needed of a core; ``core.py``: a halted Cortex-M: saved, stepped, run, put back;
  ``core_a.py``: the same of an Armv7-A or Armv7-R.
- ``rig.py``: the program in RAM, run under trace.
- ``compare.py``: a history against the path; ``findings.py``: what a step finds.
- ``basic.py``, ``features.py``, ``resources.py``, ``buffers.py``: the steps.
- ``steps.py``: their order, and how long they may take.
- ``bench.py``: what is borrowed of the target, and put back.

It reaches the core and the trace hardware by an access port alone, so it runs with any debugger, or with none.
"""
