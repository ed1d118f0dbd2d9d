"""Constraint propagation by a worklist, and the resolution of contradictions.

- ``propagation.py``: the worklist; ``solver.py``: the fixpoint of each tier, one after the other.
- ``assumptions.py``: what is assumed, and which assumptions fall together.
- ``suppositions.py``: stores of unknown address that turn out to miss; ``courses.py``: what becomes of suppositions
  that are taken together; ``supposed_places.py``: where pointers turn out to lead then.
- ``newest_first.py``: the same for a few stores at a time; ``last_writers.py``: which store alone can have left what
  was found; ``fallen_links.py``: which links are false, where not all can be true.
- ``thread_trials.py``: which of several threads went on, by what contradicts the others.
- ``justifications.py``: what a narrowing rests on; ``blame.py``: which suppositions that are.
- ``doubts.py``: facts that contradict each other are withheld; ``regained.py``: the most trusted of them come back,
  as assumptions; ``dropped.py``: the rest, in plain words.
"""
