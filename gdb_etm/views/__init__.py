"""Values to lines of text; nothing is printed here.

- ``instructions.py``, ``functions.py``, ``stops.py``: a history, its calls, and where a cursor stands.
- ``values.py``: registers and memory of the past, with what they rest on.
- ``packets.py``, ``elements.py``: a trace stream.
- ``captures.py``, ``budget.py``, ``filters.py``, ``events.py``, ``registers.py``, ``doctor.py``: what commands list.
- ``text.py``: words and columns that several of these share.
"""
