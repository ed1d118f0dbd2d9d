"""Simulated boards behind a pyOCD debug probe: debug port, core, trace unit, trace buffer, and what really ran."""

import importlib

# pyOCD loads its plug-ins while it is being imported, ours among them.  Importing it before any module of this package
# keeps that from happening in the middle of one of them.
importlib.import_module("pyocd")
