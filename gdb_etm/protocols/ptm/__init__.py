"""PTM trace, Program Flow Trace architecture versions 1.0 and 1.1 (Arm IHI 0035B)."""
