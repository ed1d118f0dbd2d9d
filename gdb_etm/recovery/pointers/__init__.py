"""Points-to analysis: which objects a store's address may be made from.

- ``provenance.py``: what a value may be made from: constants, arguments, the frame.
- ``summaries.py``: what is found out about a function.
- ``flow.py``: the dataflow of one function: its stores, and the objects whose address leaves it.
- ``points_to.py``: all functions of a program; which object a store cannot reach.
"""
