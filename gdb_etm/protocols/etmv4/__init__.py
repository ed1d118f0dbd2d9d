"""ETMv4 instruction trace, architecture versions 4.0 to 4.6 (Arm IHI 0064 H.a).

As in every protocol: ``config.py``, ``headers.py``, ``packets.py``, ``listing.py``, ``handlers.py``, ``automaton.py``,
``execution.py`` (on ``execution_state.py``) and ``decoder.py``.  Beside them:

- ``program_points.py``, ``transitions.py``, ``fast_path.py``: what is kept of the automaton, and the hot loop over it.
- ``speculation.py``, ``resolution.py``: P0 elements wait until they are committed (5.2.18 to 5.2.20).
- ``conditional.py``, ``results.py``, ``outcomes.py``: conditional instructions and whether they passed (2.6.2).
- ``reserved.py``: packets whose length is certain and whose value is not.
- ``log.py``: what the analysis of data and conditions needs of the instruction stream.
- ``exceptions.py``: exception types by name.
- ``data/``: the data stream, and the instructions that made its transfers.
"""
