"""Constraint propagation by a worklist, and the resolution of contradictions.

- ``propagation.py``: the worklist; ``solver.py``: the fixpoint of each tier, one after the other.
- ``assumptions.py``: what is assumed, and which assumptions fall together.
- ``suppositions.py``: stores of unknown address that turn out to miss, all at once; ``supposed_places.py``: where
  pointers turn out to lead then.
- ``thread_trials.py``: which of several threads went on, by what contradicts the others.
- ``justifications.py``: what a narrowing rests on.
- ``doubts.py``: facts that contradict each other are withheld; ``regained.py``: the most trusted of them come back,
  as assumptions; ``dropped.py``: the rest, in plain words.
"""
