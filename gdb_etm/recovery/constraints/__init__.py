"""Variables, what is known of each, and the constraints between them.

- ``domain.py``: known bits, an interval, and how a variable differs from others; and the log of every narrowing.
- ``constraints.py``: constraints of bits and selections, each with its propagator; ``arithmetic.py`` and ``choice.py``
  have those of arithmetic and of what may be one thing or another.
- ``tables.py``: tables of constants, from which something is loaded.
- ``remainders.py``: recognises x - x / k * k.
- ``graph.py``: the constraint graph: one variable for each value, and no constraint twice.
"""
