"""Encoder from executed instructions to PTM trace (IHI 0035B, 4.5).

- ``encoder.py``: which packets an execution needs.
- ``records.py``: what the encoder keeps of each instruction.
- ``writer.py``: packets that are compressed against those before them.
- ``packets.py``: all other packets as bytes.
"""
