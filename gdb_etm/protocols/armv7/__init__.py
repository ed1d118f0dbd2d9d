"""Code that ETMv3 and PTM share.

Both trace Armv7 processors, and write addresses, states and times alike.

- ``fields.py``, ``clock.py``, ``exceptions.py``: fields of packets; timestamps; exceptions by name.
- ``listing.py``, ``handlers.py``: the packets that are the same in both, in words and as elements.
- ``automaton.py``, ``transition_cache.py``, ``fast_path.py``: the automaton, its caches, and the hot loop over them.
- ``execution.py``: the state of the execution, and what is recorded of it.
- ``encode/``: the fields, written.
"""
