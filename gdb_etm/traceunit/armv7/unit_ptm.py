"""A Program Trace Macrocell on the target."""

from __future__ import annotations

from gdb_etm.registers import etmv3_id
from gdb_etm.traceunit.armv7.capabilities import PtmCapabilities
from gdb_etm.traceunit.armv7.ptm import plan_program
from gdb_etm.traceunit.armv7.unit import Armv7Unit
from gdb_etm.traceunit.options import TraceOptions
from gdb_etm.traceunit.plan import Plan


class PtmUnit(Armv7Unit):
    """One PTM."""

    name = "PTM"
    capabilities_type = PtmCapabilities
    major = etmv3_id.MAJOR_PFT

    @property
    def protocol(self) -> str:
        """What its trace is decoded by."""
        return "ptm"

    @property
    def title(self) -> str:
        """Architecture and version, such as ``"PTM 1.0"``."""
        return "PTM 1.%d" % self.capabilities.minor

    def plan(self, options: TraceOptions, buffer_bytes: int) -> Plan:
        """Plan how to program it, without touching it.

        :param buffer_bytes: Size of the buffer that the trace goes to.
        :raises UnsupportedError: It lacks what the options ask for.
        """
        return plan_program(options, PtmCapabilities(self.capabilities.registers), buffer_bytes)
