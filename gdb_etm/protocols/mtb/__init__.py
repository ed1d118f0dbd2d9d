"""Micro Trace Buffer: two words for each branch.

Ref: CoreSight MTB-M0+ Technical Reference Manual (DDI 0486), 2.3.1.
"""
