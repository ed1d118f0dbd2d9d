"""Analysis of executions: counts, coverage, and profiles.

- ``counts.py``: how often each instruction ran, and which way each conditional branch went.
- ``edges.py``: which instruction ran after which branch.
- ``coverage.py``: the same by source line and function.
- ``timeline.py``: which functions were active when.
- ``profile.py``: calls, and instructions or cycles of each function; ``activity.py`` follows the calls for it.
- ``long_calls.py``: the same costs for long histories, whose calls are not kept.
- ``compare.py``: two executions beside one another, to the first difference; ``compare_calls.py``: by calls
  alone; ``conditional.py``: instructions that may be skipped.
- ``measured.py``: each call by itself, and how long exceptions took to come to a function.

All of it adds up over captures.  What a trace does not show is unknown, not absent: so every count comes with the
number of instructions that it was made from.

Pure: no files, no clock, no thread.
"""
