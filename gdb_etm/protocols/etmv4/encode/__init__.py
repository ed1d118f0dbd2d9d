"""Executed instructions to ETMv4 trace, as a unit of the simulated boards emits it (IHI 0064, chapter 6).

- ``encoder.py``: which packets an execution needs.
- ``speculation.py``: the same for a core that runs ahead: elements are committed late, and some cancelled.
- ``conditions.py``: which instructions are traced as conditional.
- ``records.py``: what the encoder keeps of each instruction.
- ``writer.py``: packets that are compressed against those before them.
- ``packets.py``: all other packets as bytes.
- ``data.py``, ``data_packets.py``: the data stream, in the same two steps.
"""
