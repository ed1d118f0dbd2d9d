"""Packets of conditional instructions and results, as elements with keys.

A C element says that a conditional instruction, which is no branch, ran; an R element has the result of its condition.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), 6.4.9.
"""

from __future__ import annotations

from itertools import islice
from typing import Callable, Dict, Final, Iterator, List, NamedTuple, Optional, Tuple, Union

from gdb_etm.program.conditions import C, N, Z
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.packets import Kind, read_continued


class Conditional(NamedTuple):
    """A C element."""

    key: int


class Result(NamedTuple):
    """An R element."""

    key: int
    # The flags N, Z, C, V in bits 3 to 0; or 1 for passed and 0 for failed (TRCIDR0.CONDTYPE).
    value: int


Element = Union[Conditional, Result]

# Packets of C and R elements.
CONDITIONAL_KINDS: Final = (
    Kind.CONDITIONAL_1,
    Kind.CONDITIONAL_2,
    Kind.CONDITIONAL_3,
    Kind.RESULT_1,
    Kind.RESULT_2,
    Kind.RESULT_3,
    Kind.RESULT_4,
)

# Which conditional instructions are traced, by TRCCONFIGR.COND or bits 3:1 of a Trace Info's INFO; others are
# reserved.
SELECTIONS: Final = {0: "none", 1: "loads", 2: "stores", 3: "loads and stores", 7: "all"}

# Far more than a unit has keys; their number in TRCIDR12 has 32 bits.
_MOST_ELEMENTS: Final = 1 << 8

# Tables 6-16 and 6-17.  Two bits 11 are the beginning of a token of four bits among the flags, else no result.
_FLAGS: Final = (C, N, Z | C)
_LONG_FLAGS: Final[Tuple[Optional[int], ...]] = (N | C, 0, Z, None)
_TOKEN_BITS: Final = 12


def read_tokens(field: int, flags: bool) -> Optional[List[int]]:
    """Read the tokens of a Conditional Result format 3 packet, oldest first.

    :param field: 12 bits.
    :param flags: Whether results are flags (TRCIDR0.CONDTYPE).
    :returns: The results without null tokens; None when a token is reserved.
    """
    results = []
    at = 0
    while at < _TOKEN_BITS:
        token = field >> at & 3
        at += 2
        if token < 3:
            value = read_token(token, flags)
            if value is None:
                return None
            results.append(value)
        elif flags and at < _TOKEN_BITS:
            longer = _LONG_FLAGS[field >> at & 3]
            at += 2
            if longer is not None:
                results.append(longer)
    return results


def read_token(token: int, flags: bool) -> Optional[int]:
    """Read a token of two bits; None when it is reserved."""
    if flags:
        return _FLAGS[token] if token < 3 else None
    return token if token < 2 else None


class ResultSet(NamedTuple):
    """One set of payload bytes of a Conditional Result format 1 packet."""

    # Whether C elements up to its key come before the result.
    fill: bool
    key: int
    value: int


def read_results(data: bytes, at: int) -> List[ResultSet]:
    """Read the sets of a Conditional Result format 1 packet.

    ``at`` is the index of the header.
    """
    header = data[at]
    fills = (header & 1,) if header >= 0x6E else (header & 1, header >> 1 & 1)
    at += 1
    sets = []
    for fill in fills:
        first = data[at]
        at += 1
        key = first >> 4 & 7
        if first & 0x80:
            upper, at = read_continued(data, at)
            key |= upper << 3
        sets.append(ResultSet(bool(fill), key, first & 0xF))
    return sets


class ConditionKeys:
    """The keys of the last C and R elements (6.4.9).

    :param config: The unit's configuration.
    """

    def __init__(self, config: Etmv4Config) -> None:
        self._keys = config.condition_keys
        self._flags = config.condition_flags
        self._c_key = 0
        self._r_key = 0
        self._known = True
        self._readers: Dict[Kind, Callable[[bytes, int], Iterator[Element]]] = {
            Kind.CONDITIONAL_1: self._conditional_1,
            Kind.CONDITIONAL_2: self._conditional_2,
            Kind.CONDITIONAL_3: self._conditional_3,
            Kind.RESULT_1: self._result_1,
            Kind.RESULT_2: self._result_2,
            Kind.RESULT_3: self._result_3,
            Kind.RESULT_4: self._result_4,
        }

    def reset(self) -> None:
        """Start again, as at a Trace Info packet."""
        self._c_key = self._r_key = 0
        self._known = True

    def lose(self) -> None:
        """Forget the keys until the next reset."""
        self._known = False

    def read(self, kind: Kind, data: bytes, at: int) -> Optional[List[Element]]:
        """Give the C and R elements of a packet, in order.

        :param at: Index of its header.
        :returns: None when the keys are unknown, or imply more elements than any unit can have waiting.
        """
        if not self._known:
            return None
        elements = list(islice(self._readers[kind](data, at), _MOST_ELEMENTS + 1))
        if len(elements) > _MOST_ELEMENTS:
            self.lose()
            return None
        return elements

    def _next(self) -> Conditional:
        self._c_key = (self._c_key + 1) % self._keys
        return Conditional(self._c_key)

    def _fill(self) -> Iterator[Element]:
        # At least one, and up to the key of the result that follows.
        yield self._next()
        while self._c_key != self._r_key:
            yield self._next()

    def _conditional_1(self, data: bytes, at: int) -> Iterator[Element]:
        # A special key is passed over; the next key does not follow it.
        key, _ = read_continued(data, at + 1)
        self._c_key = key if key < self._keys else (self._c_key + 1) % self._keys
        yield Conditional(key)

    def _conditional_2(self, data: bytes, at: int) -> Iterator[Element]:
        form = data[at] & 3
        if form != 1:
            yield self._next()
        if form:
            yield Conditional(self._c_key)

    def _conditional_3(self, data: bytes, at: int) -> Iterator[Element]:
        field = data[at + 1]
        for _ in range(field >> 1 & 0x3F):
            yield self._next()
        if field & 1:
            yield Conditional(self._c_key)

    def _result_1(self, data: bytes, at: int) -> Iterator[Element]:
        for fill, key, value in read_results(data, at):
            self._r_key = key if key < self._keys else (self._r_key + 1) % self._keys
            if fill:
                yield from self._fill()
            yield Result(key, value if self._flags else value & 1)

    def _result_2(self, data: bytes, at: int) -> Iterator[Element]:
        self._r_key = (self._r_key + 1 + (data[at] >> 2 & 1)) % self._keys
        yield from self._fill()
        yield from self._token(data[at])

    def _result_3(self, data: bytes, at: int) -> Iterator[Element]:
        for value in read_tokens((data[at] & 0xF) << 8 | data[at + 1], self._flags) or ():
            self._r_key = (self._r_key + 1) % self._keys
            yield from self._fill()
            yield Result(self._r_key, value)

    def _result_4(self, data: bytes, at: int) -> Iterator[Element]:
        self._r_key = (self._r_key - 1) % self._keys
        yield from self._token(data[at])

    def _token(self, header: int) -> Iterator[Element]:
        value = read_token(header & 3, self._flags)
        if value is not None:
            yield Result(self._r_key, value)
