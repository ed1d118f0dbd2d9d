"""A weather sensor that sends sentences over a serial line for ever."""

from __future__ import annotations

from itertools import count, cycle
from typing import Iterator

_SENTENCES = (b"$TMP,21.4\n", b"$HUM,45.2\n", b"$PRS,1013.2\n")
_BURST = b"$TMP,21.4,21.5,21.6,21.7,21.8,21.9,22.0,22.1,22.2,22.3\n"
_BURST_EVERY = 12


def sentences() -> Iterator[bytes]:
    """Yield what the sensor says: temperature, humidity, pressure; every twelfth time ten temperatures at once."""
    for number, sentence in zip(count(1), cycle(_SENTENCES)):
        yield sentence if number % _BURST_EVERY else _BURST


def stream() -> Iterator[int]:
    """Yield the sensor's bytes."""
    for sentence in sentences():
        yield from sentence
