"""ETMv4's data stream, matched to instructions (IHI 0064 H.a, 2.4 and 6.5)."""
