"""Capabilities of an ETMv3 or PTM, by register field names.

IHI 0014Q, 3.5 (ETMCCR, ETMSCR, ETMCCER) and A.2: what those do not show, the writable bits of ETMCR show.
"""

from __future__ import annotations

from typing import Optional, Tuple

from gdb_etm.errors import UnsupportedError
from gdb_etm.registers import etmv3_page, ptm
from gdb_etm.registers.page import Page, Register
from gdb_etm.traceunit.dwt_match import DwtComparators, comparators_of
from gdb_etm.traceunit.identification import Identification

# What is written to ETMSYNCFR to see whether it can be written; no unit's fixed period is so long.
SYNC_PROBE = 0x800


class Armv7Capabilities(Identification):
    """A unit with a programming bit.

    :param registers: ETMCCR, ETMSCR, ETMIDR and ETMCCER, and of what can be written: ETMCR after writing ones to
        :attr:`probe_bits`, ETMSYNCFR after writing :data:`SYNC_PROBE`, ETMFFLR after writing the most there can be.  On
        a Cortex-M also the DWT's: DWT_CTRL, DWT_FUNCTIONn, and DWT_MASKn with the most it takes.
    """

    # The main control register.
    control: Register
    # Its fields that switch options, which need not be there.
    options: Tuple[str, ...]

    def require(self, name: str, feature: str) -> None:
        """Refuse a feature whose field is 0 or cannot be written.

        Fields of ETMCR are those that were probed by writing.

        :raises UnsupportedError: It is.
        """
        if not self.field(name):
            verb = "stays" if name.startswith("ETMCR.") else "is"
            raise UnsupportedError("%s: not in this trace unit (%s %s 0)" % (feature, name, verb), name)

    @property
    def option_bits(self) -> int:
        """The bits of the main control register that switch options."""
        return sum(self.control.fields[name].mask for name in self.options)

    @property
    def probe_bits(self) -> int:
        """Those of :attr:`option_bits` whose presence only a write shows.

        Setting them does no harm.
        """
        known = (self.control.fields[name] for name in ("Stall", "SuppressData") if name in self.control.fields)
        return self.option_bits & ~sum(field.mask for field in known)

    @property
    def minor(self) -> int:
        """Minor architecture version: 5 for ETMv3.5."""
        return self.field("ETMIDR.Minor")

    @property
    def are_readable(self) -> bool:
        """Whether the registers that are programmed can also be read."""
        return bool(self.field("ETMCCER.Readable"))

    @property
    def has_timestamps(self) -> bool:
        """Whether timestamps can be traced."""
        return bool(self.field("ETMCCER.Timestamp"))

    @property
    def processors(self) -> int:
        """Number of processors that the unit can be switched between."""
        return self.field("ETMSCR.NumProcs") + 1

    @property
    def pairs(self) -> int:
        """Number of pairs of address comparators."""
        return min(self.field("ETMCCR.AddrPairs"), 8)

    @property
    def counters(self) -> Tuple[int, ...]:
        """Numbers of the counters that can be programmed in full."""
        first = 2 if self.field("ETMCCER.ReducedCounter") else 1
        return tuple(range(first, min(self.field("ETMCCR.Counters"), 4) + 1))

    @property
    def fifo_bytes(self) -> int:
        """Size of the FIFO; 0 where that is not known."""
        return self.field("ETMFFLR.Level") if self.field("ETMCCR.FIFOFULL") else 0

    @property
    def fixed_sync_bytes(self) -> Optional[int]:
        """Fixed bytes between synchronisation points; None where the period is writable."""
        period = self.field("ETMSYNCFR.Frequency")
        return None if period == SYNC_PROBE else period

    @property
    def dwt(self) -> DwtComparators:
        """The DWT's comparators that are free and drive a watchpoint input."""
        return comparators_of(self.registers, self.field("ETMCCER.WatchInputs"))

    @property
    def watchpoints(self) -> Tuple[int, ...]:
        """Their numbers."""
        return self.dwt.free

    @property
    def words(self) -> Tuple[str, ...]:
        """What the unit can do, a few words each."""
        wide = self.field("ETMCCER.Timestamp64")
        ranges = "%d address ranges" % self.pairs
        if not self.pairs and self.watchpoints:
            ranges = "%d comparators of the DWT" % len(self.watchpoints)
        found = (
            *self._own_words,
            "cycle counts" if self.field("ETMCR.CycleAccurate") else "",
            "%d-bit timestamps" % (64 if wide else 48) if self.has_timestamps else "",
            "branch broadcast" if self.field("ETMCR.BranchBroadcast") else "",
            "context IDs" if self.field("ETMCR.ContextIDSize") else "",
            ranges,
        )
        return tuple(word for word in found if word)

    @property
    def _own_words(self) -> Tuple[str, ...]:
        return ()


class EtmV3Capabilities(Armv7Capabilities):
    """What an ETMv3 has."""

    _page: Page = etmv3_page.PAGE
    control = etmv3_page.PAGE.by_name["ETMCR"]
    options = (
        "VMID",
        "Timestamp",
        "SuppressData",
        "ContextIDSize",
        "CycleAccurate",
        "BranchBroadcast",
        "Stall",
        "DataAddress",
        "DataValue",
    )

    @property
    def _own_words(self) -> Tuple[str, ...]:
        both = self.field("ETMCR.DataAddress") and self.field("ETMCR.DataValue")
        some = self.field("ETMCR.DataAddress") or self.field("ETMCR.DataValue")
        return ("data" if both else "some data" if some else "",)


class PtmCapabilities(Armv7Capabilities):
    """What a PTM has."""

    _page: Page = ptm.PAGE
    control = ptm.ETMCR
    options = ("VMID", "ReturnStack", "Timestamp", "ContextIDSize", "CycleAccurate", "BranchBroadcast", "Stall")

    @property
    def has_timestamps(self) -> bool:
        """Whether timestamps can be traced.

        A PTM-A9 r1 (PFTv1.0) says in ETMCCER that it has none, and traces them when ETMCR asks for them.
        """
        return bool(self.field("ETMCCER.Timestamp") or not self.minor and self.field("ETMCR.Timestamp"))

    @property
    def _own_words(self) -> Tuple[str, ...]:
        return ("return stack" if self.field("ETMCCER.ReturnStack") else "",)
