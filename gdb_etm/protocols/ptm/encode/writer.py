"""Writer of a PTM stream: keeps its compression state.

The encodings are IHI 0035B, 4.5; each method names its paragraph.  Packets that are compressed against others or gather
are methods here; all others are made by ``packets.py`` and written by :meth:`PacketWriter.put`.
"""

from __future__ import annotations

from typing import Optional

from gdb_etm.protocols.armv7.encode.fields import branch_address, information_bytes, timestamp
from gdb_etm.protocols.armv7.fields import NO_REFERENCE, Information, IsaState, Reason, Reference
from gdb_etm.protocols.encode.output import AtomOutput, Sink
from gdb_etm.protocols.ptm.encode import packets
from gdb_etm.protocols.ptm.encode.packets import Regime

# In one packet, without cycle counts.
_MOST_ATOMS = 5
_TIMESTAMP_BYTES = {False: 7, True: 9}


class PacketWriter(AtomOutput):
    """Writes packets of one stream, and keeps their compression state.

    :param sink: Called with complete packets, some at a time; :meth:`deliver` hands over what is left, but for waiting
        atoms, which stay until :meth:`flush_atoms`.
    :param cycle_accurate: Whether packets count cycles (ETMCR[12]).
    :param wide_timestamps: Whether timestamps have 64 bits and not 48 (ETMCCER[29]).
    """

    def __init__(self, sink: Sink, cycle_accurate: bool = False, wide_timestamps: bool = False) -> None:
        super().__init__(sink)
        self._counts = cycle_accurate
        self._timestamp_bytes = _TIMESTAMP_BYTES[wide_timestamps]
        self._reference = NO_REFERENCE
        # In the unit's own encoding; None when an analyser may not know it.
        self._timestamp: Optional[int] = None

    def atom(self, taken: bool, cycles: int = 0) -> None:
        """Add an atom (4.5.3).

        :param cycles: Cycles since the last count.
        """
        if self._counts:
            self._put(packets.counted_atom(taken, cycles))
            return
        self._atoms += "E" if taken else "N"
        if len(self._atoms) == _MOST_ATOMS:
            self.flush_atoms()

    def _write_atoms(self) -> None:
        pattern, self._atoms = self._atoms, ""
        self._put(packets.atoms(pattern))

    def alignment(self) -> None:
        """Write A-sync (4.5.1); the next timestamp is written in full."""
        self.put(packets.A_SYNC)
        self._timestamp = None

    def sync(
        self, reference: Reference, reason: Reason, regime: Regime, cycles: int = 0, context_id: bytes = b""
    ) -> None:
        """Write I-sync (4.5.2), which addresses are compressed against."""
        counted = cycles if self._counts and reason is not Reason.PERIODIC else None
        self.put(packets.sync(reference, reason, regime, counted, context_id))
        self._reference = reference

    def branch(self, reference: Reference, information: Optional[Information] = None, cycles: int = 0) -> None:
        """Write Branch address (4.5.4): a waypoint was taken, or an exception.

        :param reference: Where execution goes on.
        :param information: Exception information, where there is any.
        :param cycles: Cycles since the last count.
        """
        data = branch_address(reference, self._reference, informed=information is not None)
        if information is not None:
            data += information_bytes(information)
        self.put(data + packets.count(cycles) if self._counts else data)
        self._reference = reference

    def update(self, reference: Reference) -> None:
        """Write Waypoint update: execution up to an instruction, included (4.5.5).

        :param reference: That instruction.
        """
        # An extra byte for ThumbEE follows a fifth address byte alone.
        informed = reference.state is IsaState.THUMBEE and self._reference.state is not reference.state
        old = NO_REFERENCE if informed else self._reference
        data = b"\x72" + branch_address(reference, old, informed=informed)
        self.put(data + b"\x40" if informed else data)
        self._reference = reference

    def timestamp(self, value: int, cycles: int = 0) -> None:
        """Write Timestamp (4.5.10), only the low bytes that changed.

        :param value: In the unit's own encoding, 48 or 64 bits.
        :param cycles: Cycles since the last count.
        """
        data = b"\x42" + timestamp(value, self._timestamp, self._timestamp_bytes)
        self._timestamp = value
        self.put(data + packets.count(cycles) if self._counts else data)
