"""Capabilities of a Micro Trace Buffer."""

from __future__ import annotations

from typing import Tuple

from gdb_etm.registers import mtb
from gdb_etm.traceunit.dwt_match import DwtComparators, comparators_of
from gdb_etm.traceunit.identification import Identification


class MtbCapabilities(Identification):
    """What is known of a Micro Trace Buffer."""

    _page = mtb.PAGE

    @property
    def words(self) -> Tuple[str, ...]:
        """What it can do, a few words each."""
        base = self.registers.get("MTB_BASE", 0)
        found = ("branches alone, into RAM from 0x%08x on (MTB_BASE)" % base,)
        inputs = self.inputs
        return found + (("start and stop by %d comparators of the DWT" % inputs,) if inputs else ())

    @property
    def comparators(self) -> DwtComparators:
        """The DWT's comparators that are free to start and stop it."""
        return comparators_of(self.registers, self.inputs)

    @property
    def inputs(self) -> int:
        """How many of the DWT's comparators can start and stop it."""
        return self.registers.get("MTB_TSTART", 0).bit_length()
