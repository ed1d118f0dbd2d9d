"""Loads and stores of instructions and exceptions, for a trace unit.

A transfer of an Armv7-M core is a byte, a halfword or a word; a doubleword is two words (IHI 0064, F.2.2 to F.2.4).  A
store-exclusive has one more transfer, which says whether it succeeded (2.6.5).  Left out are the transfers of a
store-exclusive that fails: Unicorn does not report its address.
"""

from __future__ import annotations

from typing import List, Mapping, NamedTuple, Sequence, Tuple

_WORD = 4


class BusAccess(NamedTuple):
    """One transfer."""

    address: int
    # In bytes: 1, 2 or 4.
    size: int
    value: int
    store: bool
    # Its transfer index: which of the transfers of its instruction or exception it is.
    order: int


# Transfers by the index of their instruction in a list of executed ones.
Accesses = Mapping[int, Sequence[BusAccess]]

NO_ACCESSES: Accesses = {}


class RawAccess(NamedTuple):
    """An access as Unicorn reports it."""

    # How many blocks had been entered.
    block: int
    pc: int
    address: int
    # In bytes: 1, 2, 4 or 8.
    size: int
    value: int
    store: bool


def transfers(raw: Sequence[RawAccess], store_exclusive: bool) -> Tuple[BusAccess, ...]:
    """Return the transfers of one instruction, in the order of their addresses.

    :param raw: Its accesses.
    :param store_exclusive: Whether it is one; then its reads are of Unicorn's making.
    """
    found: List[BusAccess] = []
    for access in raw:
        if store_exclusive and not access.store:
            continue
        for offset in range(0, access.size, _WORD):
            value = access.value >> 8 * offset & 0xFFFFFFFF
            size = min(access.size, _WORD)
            found.append(BusAccess(access.address + offset, size, value, access.store, len(found)))
    if store_exclusive and found:
        found.append(found[0]._replace(value=0, order=len(found)))
    return tuple(found)


def frame_transfers(address: int, words: Sequence[int], store: bool) -> Tuple[BusAccess, ...]:
    """Return an exception frame's transfers.

    Its reserved word is not transferred (table F-23).

    :param address: Of its first word.
    :param words: Its words, the reserved one perhaps last.
    """
    return tuple(BusAccess(address + 4 * order, _WORD, word, store, order) for order, word in enumerate(words[:25]))
