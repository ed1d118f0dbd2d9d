"""Programming of trace units: plans of register writes, and capture sessions.

A plan is a pure function from what the user wants and what the unit has to an ordered list of register writes, each
with its reason.  One loop applies it.  What a unit lacks is refused with the identification field that says so.

- ``options.py``, ``events.py``, ``actions.py``, ``addresses.py``: what a user wants, in no unit's terms.
- ``identification.py``: identification registers, read and asked by field name; ``features.py`` puts them in words.
- ``plan.py``, ``apply.py``: the list of writes, and the loop that applies it.
- ``etmv4/``, ``armv7/``, ``mtb/``: the plans and units of the architectures; none knows another.
- ``ranges.py``, ``window.py``: arithmetic on address ranges and on events that start and stop the trace.
- ``dwt_match.py``, ``watchpoints.py``: comparators that a Cortex-M's DWT lends to its trace unit.
- ``unit.py``, ``management.py``: what all units share: power, locks and claims; ``drivers.py`` chooses one.
- ``session.py``: source, links and sink of one path, worked in the right order; ``status.py`` is what they do.
- ``full_halt.py``: halts the core when the buffer is full, by Cross Trigger Interfaces.
- ``bench.py``, ``parts.py``, ``by_hand.py``: the registers of the whole path, planned, read, and written by hand.
- ``doctor/``: why there is no trace.
"""
