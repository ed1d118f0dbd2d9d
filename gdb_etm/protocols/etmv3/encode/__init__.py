"""Encoder from executed instructions to ETMv3 trace (IHI 0014Q, chapter 7).

- ``encoder.py``: which packets an execution needs.
- ``data.py``: packets of loads and stores.
- ``writer.py``: packets that are compressed against those before them.
- ``packets.py``: all other packets as bytes.
"""
