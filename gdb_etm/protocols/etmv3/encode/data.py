"""Loads and stores -> ETMv3 data packets (IHI 0014Q, 7.4).

From the first transfer of an instruction that passes the filter on, every transfer has a packet, so that an analyser
knows which they are.  Which values come late, as those of a cache
miss do, is drawn from one generator, so that the same run gives the same trace.
"""

from __future__ import annotations

import random
from typing import Callable, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.protocols.etmv3.encode.packets import DATA_SUPPRESSED, late_value
from gdb_etm.protocols.etmv3.encode.writer import PacketWriter

_TAGS = (1, 2, 3)
_SUPPRESSED = 16


class BusTransfer(NamedTuple):
    """One transfer of an instruction, or of an exception's entry or return."""

    address: int
    # In bytes: 1, 2 or 4.
    size: int
    value: int
    store: bool


# ViewData: whether a transfer of the instruction at an address is traced.
DataView = Callable[[int, BusTransfer], bool]


class DataConfig(NamedTuple):
    """How data trace is programmed."""

    # ETMCR[3].
    addresses: bool
    # ETMCR[2].
    values: bool
    # ViewData; None traces everything.
    view: Optional[DataView] = None
    # Whether some loads get their values late.
    late: bool = True


class DataEncoder:
    """The data packets of one stream.

    :param writer: The stream.
    :param config: How data trace is programmed.
    """

    def __init__(self, writer: PacketWriter, config: DataConfig) -> None:
        self._writer = writer
        self._config = config
        self._random = random.Random(0)
        # Tags in use with the values to come, the oldest first.
        self._open: List[Tuple[int, int]] = []
        # Instructions whose data is still to be suppressed.
        self._suppressed = 0

    def transfers(self, instruction: int, transfers: Sequence[BusTransfer]) -> None:
        """Trace the transfers of the last instruction or exception.

        :param instruction: Its address, for the filter.
        """
        if self._suppressed:
            self._suppressed -= 1
            return
        view = self._config.view
        passes = [view is None or view(instruction, transfer) for transfer in transfers]
        if True not in passes:
            return
        following: Optional[int] = None
        for transfer, passed in list(zip(transfers, passes))[passes.index(True) :]:
            address = None if transfer.address == following else transfer.address
            following = transfer.address + transfer.size
            if not passed:
                self._writer.not_traced(address)
            elif len(transfers) == 1 and self._comes_late(transfer):
                self._begin(transfer, address)
            else:
                self._writer.data(address, transfer.value)
        while self._open and self._random.randrange(3) == 0:
            self._end(self._random.randrange(len(self._open)))

    def settle(self) -> None:
        """Trace the values that are due, before trace ends."""
        while self._open:
            self._end(0)

    def drop(self) -> None:
        """Lose the values that are due, as an overflow does."""
        self._open.clear()
        self._suppressed = 0

    def suppress(self) -> None:
        """Leave out some data packets, as when the FIFO is full (7.4.6)."""
        self.drop()
        self._suppressed = _SUPPRESSED
        self._writer.put(DATA_SUPPRESSED)
        self._writer.lose_data_address()

    def _comes_late(self, transfer: BusTransfer) -> bool:
        if not self._config.late or not self._config.values or transfer.store or len(self._open) == len(_TAGS):
            return False
        return self._random.randrange(6) == 0

    def _begin(self, transfer: BusTransfer, address: Optional[int]) -> None:
        taken = [tag for tag, _ in self._open]
        tag = next(tag for tag in _TAGS if tag not in taken)
        self._open.append((tag, transfer.value))
        self._writer.placeholder(tag, address)

    def _end(self, which: int) -> None:
        tag, value = self._open.pop(which)
        self._writer.put(late_value(tag, value))
