"""Plans and driver for ETMv4 (IHI 0064, chapters 3, 4, 7).

- ``capabilities.py``: what the unit has, from TRCIDR0 to TRCIDR13.
- ``plan.py``: the whole plan, from those of the files below, and notes about it.
- ``main_control.py``: what the trace holds (TRCCONFIGR and its neighbours).
- ``view.py``: which instructions are traced (ViewInst), and what starts and stops it.
- ``comparators.py``, ``matches.py``: which comparator does what, for filters and for events.
- ``watch.py``: the DWT's comparators, where a Cortex-M's unit has none of its own.
- ``resources.py``, ``terms.py``, ``slots.py``: events, counters, the sequencer, and the selectors that join them.
- ``unused.py``: registers that are unknown after reset and have no use in this plan.
- ``unit.py``: the unit on the target: attach, program, enable, disable, release.

Independent of ``armv7``.  Nothing but ``unit.py`` and ``capabilities.py`` reads or writes the target.
"""
