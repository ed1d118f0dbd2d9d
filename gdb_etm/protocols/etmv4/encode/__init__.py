"""Encoder from executed instructions to ETMv4 trace (IHI 0064, chapter 6).

- ``config.py``: how the unit is programmed; ``encoder.py``: what happens to the core, call by call.
- ``path.py``: which packets the instructions on the way need.
- ``speculation.py``: the same for a core that runs ahead: elements are committed late, and some cancelled.
- ``conditions.py``: which instructions are traced as conditional.
- ``records.py``: what the encoder keeps of each instruction.
- ``writer.py``: packets that are compressed against those before them.
- ``packets.py``: all other packets as bytes.
- ``data.py``, ``data_packets.py``: the data stream, in the same two steps.
"""
