"""Writer of an ETMv4 instruction stream: keeps its compression state.

The encodings are IHI 0064 chapter 6.4; each method names its paragraph.  Packets that are compressed against others or
gather are methods here; all others are made by ``packets.py`` and written by :meth:`PacketWriter.put`.

Some methods are for units on M-profile cores: T32 code (instruction set IS1), 32-bit addresses, always Secure,
exception level 0 (Thread) or 3 (Handler), no Context ID and no VMID.
"""

from __future__ import annotations

from itertools import islice
from typing import Dict, Iterator, List, Optional

from gdb_etm.protocols.encode.output import AtomOutput, Sink
from gdb_etm.protocols.etmv4.encode.packets import (
    A_SYNC,
    EXCEPTION_RETURN,
    OVERFLOW,
    TRACE_ON,
    changed_bytes,
    count20,
    cycle_count_1,
    cycle_count_3,
    trace_info,
)

# The exception level that stands for Thread mode (Table 5-8).
THREAD = 0
# The exception level that stands for Handler mode (Table 5-8).
HANDLER = 3

_MOST_ATOMS = 24
_SHORT_PATTERNS: Dict[str, int] = {
    # Atom Format 5 and Format 4 (6.4.13); Format 6 is better for runs that begin with three or more E.
    "NEEEE": 0xF5,
    "NNNNN": 0xD5,
    "NENEN": 0xD6,
    "ENENE": 0xD7,
    "NEEE": 0xDC,
    "NNNN": 0xDD,
    "NENE": 0xDE,
    "ENEN": 0xDF,
}
for _bits in range(8):
    # Formats 3, 2 and 1: one bit an atom, the oldest in bit 0.
    _SHORT_PATTERNS["".join("NE"[_bits >> bit & 1] for bit in range(3))] = 0xF8 | _bits
    _SHORT_PATTERNS["".join("NE"[_bits >> bit & 1] for bit in range(2))] = 0xD8 | (_bits & 3)
    _SHORT_PATTERNS["NE"[_bits & 1]] = 0xF6 | (_bits & 1)


class PacketWriter(AtomOutput):
    """Writes an instruction stream's packets, and keeps their compression state.

    :param sink: Called with complete packets, some at a time; :meth:`deliver` hands over what is left, but for waiting
        atoms, which stay until :meth:`flush_atoms`.
    """

    def __init__(self, sink: Sink) -> None:
        super().__init__(sink)
        # Each address with its instruction set in bit 0: the three recently traced address registers (6.4.12).
        self._recent: List[int] = [0, 0, 0]
        self._timestamp = 0

    def atom(self, taken: bool, fixed: bool = False) -> None:
        """Add an Atom element; packets hold several, so it may wait.

        :param fixed: Whether a unit that speculates never traces it in the wrong direction.
        """
        self._atoms += "E" if taken else "N"
        if len(self._atoms) == _MOST_ATOMS:
            self._write_atoms()

    def settle(self) -> None:
        """Write what is due of elements that are certain."""
        self.flush_atoms()

    def _write_atoms(self) -> None:
        # The packet with the most atoms from the oldest on (Atom Formats 1 to 6, 6.4.13).
        atoms = self._atoms
        run = len(atoms) - len(atoms.lstrip("E"))
        if run >= 3 and len(atoms) >= 4:
            if run == len(atoms):
                header, used = 0xC0 | (run - 4), run
            else:
                header, used = 0xE0 | (run - 3), run + 1
        else:
            used = min(5, len(atoms))
            while atoms[:used] not in _SHORT_PATTERNS:
                used -= 1
            header = _SHORT_PATTERNS[atoms[:used]]
        self._atoms = atoms[used:]
        self._put(bytes((header,)))

    def synchronise(self, threshold: Optional[int], info: bytes = b"") -> None:
        """Write A-Sync and Trace Info (6.4.2), which resets the compression state.

        :param threshold: Cycle count threshold, or None when cycle counting is off.
        :param info: The Trace Info packet to write, when it has more than the threshold.
        """
        self._put(A_SYNC + (info or trace_info(threshold)))
        self._recent = [0, 0, 0]
        self._timestamp = 0

    def trace_on(self) -> None:
        """Write Trace On: what ran before is not traced (6.4.2)."""
        self._put(TRACE_ON)

    def overflow(self) -> None:
        """Write Overflow (6.4.2): packets were lost."""
        self._put(OVERFLOW)

    def location(self, address: int, level: Optional[int]) -> None:
        """Write the address where execution continues.

        :param address: Address of the next T32 instruction.
        :param level: Its exception level, or None when the stream has said it already.
        """
        if level is None:
            self._put(self._address(address))
        elif self._is_far(address):
            self._put(self._address_with_context(address, level))
        else:
            self._put(bytes((0x81, level)) + self._address(address))

    def exception(self, number: int, address: int, known: bool, level: Optional[int] = None) -> None:
        """Write an Exception packet (6.4.5).

        :param number: Exception type as traced, 10 bits (see :func:`exception_type`).
        :param address: Preferred return address.
        :param known: Whether an analyser knows where execution was; if not, `address` is that too (E1:E0 = 0b10).
        :param level: With `known` False: the exception level there, when it has changed.
        """
        # The second byte, of no use for types below 32, is always there: the Cortex-M33 of an RP2350 was seen to do so.
        form = 0x81 if known else 0xC0
        info = bytes((form | (number & 0x1F) << 1, number >> 5))
        packet = self._address(address) if level is None else self._address_with_context(address, level)
        self._put(b"\x06" + info + packet)

    def exception_return(self) -> None:
        """Write Exception Return (6.4.5)."""
        self._put(EXCEPTION_RETURN)

    def cycle_count(self, cycles: Optional[int]) -> None:
        """Write Cycle Count in commit mode 1, without commits (6.4.6).

        :param cycles: Cycles above the threshold, or None when unknown.
        """
        self._put(cycle_count_3(cycles) if cycles is not None and cycles < 4 else cycle_count_1(cycles))

    def timestamp(self, value: int, cycles: Optional[int]) -> None:
        """Write a Timestamp packet (6.4.3), only the low bytes that changed.

        :param value: 64-bit global timestamp.
        :param cycles: Cycles since the last Cycle Count, or None when cycle counting is off.
        """
        data = changed_bytes(value, self._timestamp)
        self._timestamp = value
        self._put(b"\x02" + data if cycles is None else b"\x03" + data + count20(cycles))

    def address_packet(self, address: int, is1: bool, form: int = 0) -> bytes:
        """Make an address packet, for later ones to refer to (6.4.12).

        :param address: Instruction address, up to 64 bits.
        :param is1: The instruction set field: True for T32.
        :param form: How many of the shorter forms to pass over, of Exact Match, Short, Long 32-bit and Long 64-bit, as
            far as they can hold this address.
        """
        forms = list(islice(self._forms(address, is1), form + 1))
        self._push(address, is1)
        return forms[-1]

    def address_with_context_packet(self, address: int, is1: bool, context: bytes, form: int = 0) -> bytes:
        """Make an Address with Context packet, for later references (6.4.12).

        :param context: A payload of a Context packet (6.4.12).
        :param form: 0 for the shorter form that can hold this address, 1 for the 64-bit one.
        """
        wide = form > 0 or (address ^ self._recent[0]) >> 32 != 0
        self._push(address, is1)
        return bytes((0x82 + is1 + 3 * wide,)) + _long(address, is1, wide) + context

    def _push(self, address: int, is1: bool) -> None:
        self._recent = [address | is1, self._recent[0], self._recent[1]]

    def _forms(self, address: int, is1: bool) -> Iterator[bytes]:
        # The packets that can hold an address, shortest first.
        recent = self._recent
        if address | is1 in recent:
            yield bytes((0x90 | recent.index(address | is1),))
        shift = 1 if is1 else 2
        changed = (address ^ recent[0]) >> shift
        if changed >> 15 == 0:
            low = address >> shift & 0x7F
            header = 0x95 + is1
            if changed >> 7 == 0:
                yield bytes((header, low))
            yield bytes((header, 0x80 | low, address >> shift + 7 & 0xFF))
        if changed >> 32 - shift == 0:
            yield bytes((0x9A + is1,)) + _long(address, is1, False)
        yield bytes((0x9D + is1,)) + _long(address, is1, True)

    def _is_far(self, address: int) -> bool:
        return address | 1 not in self._recent and (address ^ self._recent[0]) >> 16 != 0

    def _address(self, address: int) -> bytes:
        return self.address_packet(address, True)

    def _address_with_context(self, address: int, level: int) -> bytes:
        return self.address_with_context_packet(address, True, bytes((level,)))


def exception_type(number: int) -> int:
    """Convert an M-profile exception number to the traced TYPE (6.4.5).

    :param number: Exception number as in IPSR, from 1.
    """
    return number if number < 24 else 0x200 + number - 16


def _long(address: int, is1: bool, wide: bool) -> bytes:
    # The payload of the long address forms (6.4.12).
    low = (address >> 1 & 0x7F, address >> 8 & 0xFF) if is1 else (address >> 2 & 0x7F, address >> 9 & 0x7F)
    return bytes(low) + (address >> 16).to_bytes(6, "little")[: 6 if wide else 2]
