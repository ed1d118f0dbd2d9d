"""Simulated boards as pyOCD debug probes: debug port, core, trace hardware, truth.

The probe, and what is on the wire:

- ``plugin.py``, ``probe.py``, ``power.py``, ``wire.py``, ``dap.py``, ``domain.py``: pyOCD's way in, the debug and
  access ports, and what stands between a debugger and trace hardware.
- ``usb_probe.py``, ``cmsis_dap.py``: the way in by a CMSIS-DAP probe, with its firmware.
- ``openocd.py``, ``bitbang.py``, ``jtag.py``: OpenOCD's way in, by the pins.
- ``faults.py``: faults on demand; ``awkward.py``: what some of them put in the way; ``options.py``: the user's choices.
- ``variants.py``, ``models.py``, ``models_baseline.py``, ``units.py``, ``units_armv7.py``, ``units_mtb.py``: the boards
  and units as data.
- ``chips.py``: chips by their public documents; ``vendor.py``: their vendors' registers, trace ports, second cores.
- ``board.py``, ``cortex_a_board.py``, ``mtb_board.py``: a board put together; ``debug_bus.py``: what only an
  access port reaches.

The core:

- ``system.py``, ``machine.py``, ``cortex_a_machine.py``, ``clock.py``, ``bus.py``, ``listeners.py``: memory, devices,
  turns, and who hears the core.
- ``cortex_m.py``, ``engine.py``, ``emulator.py``, ``t32.py``, ``path.py``, ``stops.py``: instructions, run by Unicorn
  and made exact; ``cortex_a.py``, ``cortex_a_engine.py``, ``cortex_a_path.py`` for a Cortex-A.
- ``cortex_a_debug.py``, ``cortex_a_itr.py``, ``cortex_a_watch.py``: its debug registers.
- ``exception_model.py``, ``exceptions.py``, ``frame.py``, ``status.py``, ``mpu.py``, ``write_buffer.py``: exceptions
  and faults.
- ``scs.py``, ``debug.py``, ``fpb.py``, ``dwt.py``, ``systick.py``, ``mpcore.py``, ``romtable.py``,
  ``identity.py``: what is at the core's private addresses.
- ``uart.py``: a serial port, and what sends to it; ``dma.py``: what copies memory without the core.
- ``hooks.py``, ``watch.py``, ``accesses.py``, ``conditions.py``, ``registers.py``, ``truth.py``: what really ran.

The trace:

- ``trace_unit.py``: what all trace units share.
- ``etm.py``, ``logic.py``, ``comparators.py``, ``resources.py``, ``viewinst.py``, ``viewdata.py``: an ETMv4.
- ``armv7_unit.py``, ``etmv3.py``, ``ptm.py``, ``trace_enable.py``, ``resources_armv7.py``: an ETMv3 and a PTM.
- ``mtb.py``: a Micro Trace Buffer, trace unit and buffer at once.
- ``funnel.py``, ``formatter.py``, ``trace_ram.py``, ``etb.py``, ``tmc.py``: on the way to the buffer; ``cti.py``: what
  hears that it is full.

An oracle: it knows which instructions ran, and no code of the decoders runs in it.
"""

import importlib

# pyOCD loads its plug-ins while it is being imported, ours among them.  Importing it before any module of this package
# keeps that from happening in the middle of one of them.
importlib.import_module("pyocd")
