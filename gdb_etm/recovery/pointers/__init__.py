"""Points-to analysis: which objects a store's address may be made from.

- ``provenance.py``: what a value may be made from: constants, arguments, the frame.
- ``arithmetic.py``: what the result of an operation may be made from.
- ``blocks.py``: a function's basic blocks; ``summaries.py``: what is found out about it.
- ``states.py``: what is known before each block.
- ``flow.py``: the dataflow of one function: its stores, and the objects whose address leaves it.
- ``points_to.py``: all functions of a program; which object a store cannot reach.
"""
