"""Values to lines of text; nothing is printed here.

- ``history.py``: instructions, events and loads and stores of a history, and its call history.
- ``values.py``: registers and memory of the past, with what they rest on.
- ``fault.py``: why a program went wrong.
- ``writes.py``: stores and loads; ``steps.py``: a value's step in words; ``tree.py``: steps as a tree.
- ``schema.py``: what all JSON has in common; ``compare.py``: two executions.
- ``coverage.py``, ``profile.py``: what was seen to run, and what it cost; ``recorded.py``: a long recording.
- ``packets.py``, ``elements.py``: a trace stream.
- ``captures.py``, ``threads.py``, ``budget.py``, ``filters.py``, ``events.py``, ``registers.py``: what commands list.
- ``verdict.py``: what the doctor found.
- ``text.py``: words and columns that several of these share; ``styles.py``: the parts of lines that have a style.
"""
