"""Plans and drivers for ETMv3 (IHI 0014Q) and PTM (IHI 0035B).

- ``capabilities.py``: what a unit has; ``probe.py`` finds what only a write can show.
- ``plan.py``: what the plans of both share; ``etmv3.py`` and ``ptm.py`` are the whole plans.
- ``filter.py``, ``condition.py``: which instructions are traced, and under which condition at all (TraceEnable).
- ``comparators.py``: which address comparator does what.
- ``watch.py``: the DWT's comparators, where a Cortex-M's unit has none of its own.
- ``resources.py``, ``terms.py``: events, counters, the sequencer, and how two resources are joined.
- ``unit.py``: a unit of either kind on the target.

Independent of ``etmv4``.  Nothing but ``unit.py``, ``probe.py`` and ``capabilities.py`` reads or writes the target.
"""
