"""Source lines as exports need them."""

from __future__ import annotations

from typing import Callable, Optional, Tuple

# Finds the source file and line of an address; None where there is none.
SourceOf = Callable[[int], Optional[Tuple[str, int]]]
