"""The data stream of an ETMv4: loads and stores, and the instructions that made them (IHI 0064 H.a, 2.4 and 6.5)."""
