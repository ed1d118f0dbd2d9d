"""This GDB's version, for what it cannot be asked."""

from __future__ import annotations

from typing import Tuple

import gdb

# Its first numbers: (13, 1) for GDB 13.1.
VERSION: Tuple[int, ...] = tuple(int(part) for part in gdb.VERSION.split(".")[:2] if part.isdigit())
