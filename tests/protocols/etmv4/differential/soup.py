"""Streams of well-formed packets in random order, and any bytes."""

from __future__ import annotations

import random
from typing import Callable, Dict, List, NamedTuple, Sequence, Tuple

from gdb_etm.capture import MemoryImage
from gdb_etm.program.image import Program
from gdb_etm.program.isa import Isa
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.encode import packets as write
from gdb_etm.protocols.etmv4.encode.writer import PacketWriter
from tests.protocols.etmv4 import rare_packets
from tests.protocols.etmv4.differential.code import RandomCode, Spot
from tests.protocols.etmv4.differential.recording import pieces
from tests.protocols.etmv4.streams import A_PROFILE, M_PROFILE

_TRANSFERS = M_PROFILE._replace(loads=True, stores=True, data_addresses=True, data_values=True, data_trace_id=0x11)

# Kinds of units: the profile of the program, and the configuration.
UNITS: Dict[str, Tuple[str, Etmv4Config]] = {
    "v8m": ("v8m", M_PROFILE._replace(return_stack=True)),
    "a64": ("a64", A_PROFILE._replace(return_stack=True)),
    "a32 of 4.0": ("a32", A_PROFILE._replace(version=0, vmid_bytes=1, commit_mode=0)),
    "mixed of 4.6": ("mixed", A_PROFILE._replace(version=6, return_stack=True, waits=True, marked_timestamps=True)),
    "speculating v7m": ("v7m", M_PROFILE._replace(max_speculation=8, commit_mode=0, return_stack=True)),
    "speculating mixed": ("mixed", A_PROFILE._replace(max_speculation=2, return_stack=True)),
    "conditional flags": ("v8m", M_PROFILE._replace(conditional=7, condition_flags=True, condition_keys=8)),
    "conditional loads": ("a32", A_PROFILE._replace(conditional=3, condition_keys=4, max_speculation=4)),
    "data": ("v7m", _TRANSFERS._replace(version=5, max_speculation=8, p0_keys=16, p1_keys=16)),
    "futures": ("v8m", M_PROFILE._replace(version=6, futures=True, waits=True, return_stack=True)),
    "speculating futures": ("v8m", M_PROFILE._replace(version=5, futures=True, max_speculation=4, return_stack=True)),
}


class Stream(NamedTuple):
    """Bytes for a unit."""

    # A key of :data:`UNITS`.
    unit: str
    # Decides the program.
    seed: int
    data: bytes

    @classmethod
    def of(cls, unit: str, seed: int, packets: int, flips: Sequence[Tuple[int, int]]) -> "Stream":
        """Make a soup and change some bytes of it.

        :param flips: Where, in thousandths of the stream, and which bits.
        """
        data = bytearray(soup(unit, seed, packets))
        for place, bits in flips:
            data[len(data) * place // 1000] ^= bits
        return cls(unit, seed, bytes(data))

    @property
    def config(self) -> Etmv4Config:
        """The unit's configuration."""
        return UNITS[self.unit][1]

    def code(self) -> RandomCode:
        """Make the program."""
        return code_of(self.unit, self.seed)

    def program(self) -> Program:
        """The decoder's program; with branch futures, half of it random."""
        images = [MemoryImage(base, piece, "code") for base, piece in self.code().images]
        if self.config.futures:
            images[0] = images[0]._replace(data=_wild(random.Random(self.seed), len(images[0].data)))
        return Program(images)


def code_of(unit: str, seed: int) -> RandomCode:
    """Make a program for a unit."""
    profile = UNITS[unit][0]
    return RandomCode(random.Random(seed), pieces(profile), profile not in ("v7m", "v8m"), False)


def _wild(dice: random.Random, size: int) -> bytes:
    # T32 code with much that is of Armv8.1-M: branch futures and low-overhead loops with near targets.
    code = bytearray()
    while len(code) < size:
        name = dice.choice("fflwr...")
        offset = dice.randrange(32)
        if name == "f":
            code += (0xF000 | dice.randrange(1, 16) << 7 | dice.randrange(128)).to_bytes(2, "little")
            code += (0xC001 | dice.randrange(2) << 13 | offset << 1).to_bytes(2, "little")
        elif name == "l":
            code += b"\x0f\xf0" + (0xC001 | offset << 1).to_bytes(2, "little")
        elif name == "w":
            code += b"\x41\xf0" + (0xC001 | offset << 1).to_bytes(2, "little")
        elif name == "r":
            code += dice.randrange(1 << 16).to_bytes(2, "little")
        else:
            code += dice.choice((b"\x00\xbf", b"\x01\x20", b"\x70\x47"))
    return bytes(code[:size])


def soup(unit: str, seed: int, packets: int) -> bytes:
    """Make a stream: a synchronisation point, a place, and then any packets."""
    dice = random.Random(seed)
    config = UNITS[unit][1]
    out = bytearray()
    cook = _Cook(dice, config, code_of(unit, seed).starts, PacketWriter(out.extend))
    cook.begin()
    for _ in range(packets):
        cook.add()
    cook.writer.flush_atoms()
    cook.writer.deliver()
    return bytes(out)


class _Cook:
    # Writes one random packet after the other.
    def __init__(self, dice: random.Random, config: Etmv4Config, starts: List[Spot], writer: PacketWriter) -> None:
        self.writer = writer
        self._dice = dice
        self._config = config
        self._starts = starts
        often = [self._atoms] * 6 + [self._address] * 4
        self._makers: List[Callable[[], None]] = often + [
            self._context,
            self._exception,
            self._simple,
            self._simple,
            self._time,
            self._resolution,
            self._resolution,
            self._conditional,
            self._q,
            self._marker,
        ]

    def begin(self) -> None:
        self.writer.synchronise(None, self._info())
        self.writer.put(write.TRACE_ON)
        self._context()
        self._address()

    def add(self) -> None:
        self._dice.choice(self._makers)()
        if self._dice.random() < 0.01:
            self.writer.flush_atoms()
            self.writer.synchronise(None, self._info())

    def _info(self) -> bytes:
        dice, config = self._dice, self._config
        threshold = dice.choice((None, 0, 300))
        depth = dice.choice((None, 0, dice.randrange(config.max_speculation + 1)))
        key = dice.randrange(config.p0_keys)
        return write.trace_info(threshold, config.conditional, config.loads, config.stores, key, depth)

    def _atoms(self) -> None:
        for _ in range(self._dice.choice((1, 1, 2, 3, 6))):
            self.writer.atom(self._dice.random() < 0.6)

    def _place(self) -> bytes:
        address, isa = self._dice.choice(self._starts)
        if self._dice.random() < 0.05:
            address = self._dice.choice((0, 0xFFFFFFFE, 0xEFFFFFFE, address + 2, 0x20000000))
        is1 = isa is Isa.T32
        return self.writer.address_packet(
            address & -2 if is1 else address & -4, is1, self._dice.choice((0, 0, 1, 2, 3))
        )

    def _address(self) -> None:
        self.writer.put(self._place())

    def _bytes(self, size: int) -> bytes:
        return bytes(self._dice.randrange(256) for _ in range(size))

    def _payload(self) -> bytes:
        dice, config = self._dice, self._config
        vmid = self._bytes(config.vmid_bytes) if dice.random() < 0.5 else b""
        context_id = self._bytes(config.context_id_bytes) if dice.random() < 0.5 else b""
        wide = not config.m_profile and dice.random() < 0.5
        return rare_packets.context_payload(dice.randrange(4), dice.random() < 0.5, wide, vmid, context_id)

    def _context(self) -> None:
        if self._dice.random() < 0.2:
            self.writer.put(rare_packets.SAME_CONTEXT)
        else:
            self.writer.put(rare_packets.context(self._payload()))

    def _exception(self) -> None:
        number = self._dice.choice((0, 1, 2, 3, 0xE, 0x10, 0x18, 0x19, 0x1A, 0x20, 0x208))
        number = number if self._config.m_profile else number & 0x1F
        self.writer.put(rare_packets.exception(number, self._dice.choice((1, 1, 2)), self._place(), short=True))

    def _simple(self) -> None:
        version = self._config.version
        choices = [write.TRACE_ON, write.EXCEPTION_RETURN, write.EXCEPTION_RETURN, write.event((0, 2))]
        choices += [rare_packets.DISCARD, write.OVERFLOW, write.CONDITIONAL_FLUSH]
        choices += [rare_packets.FUNCTION_RETURN] * (version >= 2) + [rare_packets.IGNORE] * (version >= 3)
        choices += [rare_packets.RESYNCHRONIZATION, rare_packets.BRANCH_FUTURE_FLUSH] * (version >= 5)
        choices += [rare_packets.TIMESTAMP_MARKER] * (version >= 6)
        self.writer.put(self._dice.choice(choices))

    def _time(self) -> None:
        dice, mode = self._dice, self._config.commit_mode
        commits = None if mode else dice.randrange(3)
        count = dice.choice((write.cycle_count_1(5, commits), write.cycle_count_3(2, None if mode else 1)))
        self.writer.put(count)
        self.writer.timestamp(dice.randrange(1 << dice.randrange(1, 64)), dice.choice((None, 70000)))

    def _resolution(self) -> None:
        dice = self._dice
        atoms = dice.choice(("", "E", "EE", "N"))
        several = dice.choice((1, 1, 2, 3, 300))
        forms = [write.commit(several), write.cancel_1(several, dice.random() < 0.5), write.mispredict(atoms)]
        self.writer.put(dice.choice(forms + [write.cancel_2(atoms), write.cancel_3(dice.randint(2, 5))]))

    def _conditional(self) -> None:
        dice = self._dice
        results = [(dice.randrange(20), dice.randrange(16), dice.random() < 0.5) for _ in range(dice.randint(1, 2))]
        forms = [rare_packets.conditional_1(dice.randrange(20)), rare_packets.conditional_2(dice.randrange(3))]
        forms += [
            rare_packets.conditional_3(dice.randint(1, 6), True),
            rare_packets.result_1(results),
            write.result_2(False, 1),
        ]
        self.writer.put(dice.choice(forms + [rare_packets.result_3(dice.randrange(1 << 12)), rare_packets.result_4(0)]))

    def _q(self) -> None:
        count = self._dice.choice((None, 1, 2, 3, 10, 1 << 40))
        place = self._place() if self._dice.random() < 0.7 else b""
        # There is no form for a 64-bit address.
        self.writer.put(rare_packets.q(count, place if place[:1] not in (b"\x9d", b"\x9e") and count else b""))

    def _marker(self) -> None:
        self.writer.put(self._dice.choice((write.numbered_sync(3), write.unnumbered_sync(self._dice.randrange(5)))))
