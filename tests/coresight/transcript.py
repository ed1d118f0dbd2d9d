"""Transcripts of register accesses, as a port that requires them."""

from __future__ import annotations

from typing import Any, Dict, List

from gdb_etm.access.recording import BLOCK, FIFO, READ, WRITE


class Transcript:
    """Access port that answers from a transcript.

    The accesses must be the same, in the same order.

    :param accesses: The operation, the address, the number of words, and the values of each.
    """

    name = "AHB-AP 0"

    def __init__(self, accesses: List[Dict[str, Any]]) -> None:
        self._accesses = accesses
        self._next = 0

    @property
    def finished(self) -> bool:
        """Whether every access has been made."""
        return self._next == len(self._accesses)

    def read32(self, address: int) -> int:
        """Read one word."""
        return self._take({"op": READ, "address": hex(address)})[0]

    def write32(self, address: int, value: int) -> None:
        """Write one word, which must be the one of the transcript."""
        self._take({"op": WRITE, "address": hex(address), "values": [value]})

    def read_block(self, address: int, words: int) -> List[int]:
        """Read consecutive words."""
        return self._take({"op": BLOCK, "address": hex(address), "words": words})

    def read_fifo(self, address: int, words: int) -> List[int]:
        """Read the same word many times."""
        return self._take({"op": FIFO, "address": hex(address), "words": words})

    def _take(self, made: Dict[str, Any]) -> List[int]:
        assert not self.finished, "after the end of the transcript: %s" % made
        expected = self._accesses[self._next]
        self._next += 1
        assert {name: expected.get(name) for name in made} == made, "access %d: expected %s, made %s" % (
            self._next,
            expected,
            made,
        )
        values: List[int] = expected["values"]
        return values


def transcript(base: int, text: str) -> Transcript:
    """Make a port from lines of accesses.

    Such as ``r 304 = 1003``, ``w 020 = 1``, ``block fb8 = 1 2`` and ``fifo 010 = 5 6``.

    Offsets and values are hexadecimal; what follows ``;`` is a remark.

    :param base: Address of the component.
    """
    accesses: List[Dict[str, Any]] = []
    for line in text.splitlines():
        words = line.partition(";")[0].split()
        if not words:
            continue
        values = [int(word, 16) for word in words[3:]]
        operation = {"r": READ, "w": WRITE, "block": BLOCK, "fifo": FIFO}[words[0]]
        accesses.append(
            {"op": operation, "address": hex(base + int(words[1], 16)), "words": len(values), "values": values}
        )
    return Transcript(accesses)
