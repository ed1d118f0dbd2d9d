"""Datasheet pages as data: registers with offset, access and fields.

- ``page.py``: what a register is; ``coresight.py``: those that every component has at the top of its 4 KiB.
- ``etmv4.py``, ``etmv4_comparators.py``, ``etmv4_id.py``, ``etmv4_page.py``: IHI 0064, chapter 7.
- ``etmv3.py``, ``etmv3_comparators.py``, ``etmv3_id.py``, ``etmv3_page.py``: IHI 0014Q, chapter 3.
- ``ptm.py``: IHI 0035B, chapter 3, where it differs.
- ``etb.py``, ``tmc.py``, ``funnel.py``: buffers and links.
- ``mtb.py``: trace unit and buffer at once; ``cti.py``: Cross Trigger Interface.
- ``cortex_m.py``, ``dwt.py``, ``dwt_v8.py``, ``cortex_a.py``: debug registers of the processor.
"""
