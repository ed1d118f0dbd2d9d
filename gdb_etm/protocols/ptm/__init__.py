"""PTM trace, Program Flow Trace versions 1.0 and 1.1 (IHI 0035B)."""
