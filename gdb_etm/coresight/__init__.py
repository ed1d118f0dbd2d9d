"""CoreSight components: discovery, topology, and drivers of links and sinks.

- ``romtable.py``, ``components.py``: where the components are, and what they are.
- ``topology.py``: one path from source to sink; ``vendor.py``: what a chip's maker wants written first;
  ``unlisted.py``: what no ROM table lists.
- ``steps.py``, ``poll.py``, ``borrowed.py``: accesses with their reasons, waiting with an end, putting back.
- ``funnel.py``: the links; ``sink.py``, ``etb.py``, ``tmc.py``, ``mtb.py``: the buffers.
- ``cti.py``: a Cross Trigger Interface.
- ``special.py``: special registers of a halted Cortex-M, by DCRSR and DCRDR; ``cycle_halt.py``: halts it in time;
  ``core_debug.py``: a core of Armv7-A or Armv7-R in Debug state.
"""
