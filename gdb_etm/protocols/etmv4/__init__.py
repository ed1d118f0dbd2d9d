"""ETMv4 instruction trace, architecture versions 4.0 to 4.6 (Arm IHI 0064 H.a)."""
