"""Code that ETMv3 and PTM share.

Both trace Armv7 processors, and write addresses, states and times alike.
"""
