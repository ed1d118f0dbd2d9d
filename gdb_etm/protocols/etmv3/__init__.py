"""ETMv3 instruction and data trace, versions 3.0 to 3.5 (IHI 0014Q).

As in every protocol: ``config.py``, ``headers.py``, ``packets.py``, ``listing.py``, ``handlers.py``, ``automaton.py``,
``execution.py`` and ``decoder.py``.  Beside them:

- ``lines.py``: atoms followed along straight code, many at once.
- ``data.py``: the loads and stores of instructions.
- ``exceptions.py``: exceptions by name.
"""
