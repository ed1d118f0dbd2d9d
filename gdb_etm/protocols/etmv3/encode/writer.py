"""Writer of an ETMv3 stream: keeps what packets are compressed against.

The encodings are those of the Embedded Trace Macrocell Architecture Specification (IHI 0014Q), chapter 7.  Packets that
are compressed against others or gather are methods here; all others are made by ``packets.py`` and written by
:meth:`PacketWriter.put`.
"""

from __future__ import annotations

from typing import NamedTuple, Optional

from gdb_etm.protocols.armv7.encode.fields import branch_address, information_bytes, timestamp
from gdb_etm.protocols.armv7.fields import NO_REFERENCE, Information, IsaState, Reference
from gdb_etm.protocols.encode.output import AtomOutput, Sink
from gdb_etm.protocols.etmv3.encode.packets import A_SYNC, cycle_header, data_value, isync, plain_header

_MOST_ATOMS = 48
_ADDRESSED = 0x20
_ADDRESSED_NOT_TRACED = 0x10


class Layout(NamedTuple):
    """The part of a unit's configuration that decides packets' layout."""

    # Whether branch packets have the alternative address encoding (ETMIDR[20]).
    alternative: bool = True
    # Whether P-headers count cycles (ETMCR[12]).
    cycle_accurate: bool = False
    # How long a timestamp can be: 7, or 9 where it has 64 bits (ETMCCER[29]).
    timestamp_bytes: int = 7
    # Whether data packets have addresses (ETMCR[3]).
    data_addresses: bool = False
    # Whether data packets have values (ETMCR[2]).
    data_values: bool = False


class PacketWriter(AtomOutput):
    """Writes packets of one stream, and keeps their compression state.

    :param sink: Called with complete packets, some at a time; :meth:`deliver` hands over what is left, but for waiting
        atoms, which stay until :meth:`flush_atoms`.
    :param layout: How packets are written.
    """

    def __init__(self, sink: Sink, layout: Layout = Layout()) -> None:
        super().__init__(sink)
        self._layout = layout
        self._pack = cycle_header if layout.cycle_accurate else plain_header
        self._reference = NO_REFERENCE
        # The last ones; None where the next is written whole.
        self._timestamp: Optional[int] = None
        self._data_address: Optional[int] = None

    # P-headers (7.3.1).

    def atoms(self, atoms: str) -> None:
        """Add atoms; packets hold several, so they may wait.

        Where the unit counts cycles, those between the atoms are added too.

        :param atoms: ``E``, ``N`` and ``W``, the oldest first.
        """
        self._atoms += atoms
        if len(self._atoms) > _MOST_ATOMS:
            self._write_atoms()

    def _write_atoms(self) -> None:
        header, held = self._pack(self._atoms)
        self._atoms = self._atoms[held:]
        self._put(header)

    # Synchronisation (7.10).

    def asynchronise(self) -> None:
        """Write A-sync; the next timestamp and the next data address are whole."""
        self.put(A_SYNC)
        self._timestamp = None
        self.lose_data_address()

    def isync(self, reason: int, address: int, state: IsaState = IsaState.THUMB, cycles: Optional[int] = None) -> None:
        """Write a normal I-sync packet, as :func:`gdb_etm.protocols.etmv3.encode.packets.isync`."""
        self.put(isync(reason, address, state, cycles))
        self._reference = Reference(address, state)

    # Branches (7.3.5).

    def branch(self, address: int, state: IsaState = IsaState.THUMB, information: Optional[Information] = None) -> None:
        """Write a branch: the address where execution continues.

        :param information: Exception information, where there is any.
        """
        reference = Reference(address, state)
        data = branch_address(reference, self._reference, not self._layout.alternative, information is not None)
        self.put(data if information is None else data + information_bytes(information))
        self._reference = reference

    # Time (7.7.4).

    def timestamp(self, value: int, clock_changed: bool = False) -> None:
        """Write Timestamp, only the low bytes that changed.

        :param clock_changed: Whether the clock of the processor changed its frequency.
        """
        data = timestamp(value, self._timestamp, self._layout.timestamp_bytes)
        self.put(bytes((0x42 | clock_changed << 2,)) + data)
        self._timestamp = value

    # Data (7.4).

    def lose_data_address(self) -> None:
        """Write the next data address whole."""
        self._data_address = None

    def data(self, address: Optional[int], value: int) -> None:
        """Write Normal data.

        :param address: None when it follows from the packet before.
        :param value: Up to 32 bits.
        """
        size, data = data_value(value if self._layout.data_values else None)
        packed = self._address(address)
        self.put(bytes((0x02 | size | (address is not None) * _ADDRESSED,)) + packed + data)

    def placeholder(self, tag: int, address: Optional[int]) -> None:
        """Write Out-of-order placeholder: the value comes later.

        :param tag: 1 to 3, as in the packet with the value.
        :param address: None when it follows from the packet before.
        """
        packed = self._address(address)
        self.put(bytes((0x50 | tag << 2 | (address is not None) * _ADDRESSED,)) + packed)

    def not_traced(self, address: Optional[int]) -> None:
        """Write Value not traced, for a transfer that a filter leaves out.

        :param address: None when it follows from the packet before.
        """
        packed = self._address(address)
        self.put(bytes((0x6A | (address is not None) * _ADDRESSED_NOT_TRACED,)) + packed)

    def _address(self, address: Optional[int]) -> bytes:
        # 7.4.2: as few bytes as the change needs. The fifth has the BE bit above the address: little-endian here.
        if address is None or not self._layout.data_addresses:
            return b""
        changed = -1 if self._data_address is None else address ^ self._data_address
        self._data_address = address
        count = next((count for count in range(1, 5) if not changed >> 7 * count), 5)
        return bytes([address >> 7 * index & 0x7F | (index < count - 1) << 7 for index in range(count)])
