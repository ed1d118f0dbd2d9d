"""ETMv3 instruction and data trace, architecture versions 3.0 to 3.5 (Arm IHI 0014Q)."""
