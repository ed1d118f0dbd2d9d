"""ETMv3 instruction and data trace, versions 3.0 to 3.5 (IHI 0014Q)."""
