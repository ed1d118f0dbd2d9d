"""Queue of results of conditional instructions, in execution order.

An R element belongs to the C elements before it that have its key and no result yet; after an F element the C elements
before it no longer matter.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), 2.6.2.
"""

from __future__ import annotations

from array import array
from functools import partial
from typing import Callable, Dict, Final, List

from gdb_etm.protocols.etmv4.conditional import CONDITIONAL_KINDS, SELECTIONS, Conditional, ConditionKeys, Element
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.packets import Kind, TraceInfo

# The result of a C element that never got one.
UNRESOLVED: Final = 0xFF


class Flush:
    """An F element, and the C elements up to the next."""

    __slots__ = ("selection", "results", "complete", "entry", "event", "cancelled")

    def __init__(self, selection: int, complete: bool) -> None:
        # Which conditional instructions have C elements: as TRCCONFIGR.COND.
        self.selection = selection
        # For each C element after it, in order, the value of its R element, or UNRESOLVED.
        self.results = array("B")
        # False when C elements may be missing after those in ``results``.
        self.complete = complete
        # The number of the recording's entries before it; -1 while or when it is not known to be valid.
        self.entry = -1
        # The number of the recording's events before it, likewise.
        self.event = -1
        # Whether a Cancel took it back; the C and R elements around it stay (Table 5-9).
        self.cancelled = False


class ResultQueue:
    """The C, R and F elements of one stream, by flush."""

    def __init__(self) -> None:
        # In stream order, those included that a Cancel takes back; the first stands for the stream's beginning.
        self.flushes: List[Flush] = [Flush(0, False)]
        self._selection = 0
        self._known = False
        self._open: Dict[int, List[int]] = {}

    def inform(self, selection: int) -> None:
        """Take a Trace Info element, from which on keys are known."""
        self._selection = selection
        self._known = True

    def take(self, element: Element) -> None:
        """Take a C or R element."""
        last = self.flushes[-1]
        if not last.complete:
            return
        if isinstance(element, Conditional):
            self._open.setdefault(element.key, []).append(len(last.results))
            last.results.append(UNRESOLVED)
            return
        for index in self._open.pop(element.key, ()):
            last.results[index] = element.value

    def flush(self) -> Flush:
        """Take an F element: earlier open C elements stay unresolved (6.4.9).

        :returns: It, so that whoever finds that it is valid can say where in the execution it stands.
        """
        self._open.clear()
        self.flushes.append(Flush(self._selection, self._known))
        return self.flushes[-1]

    def lose(self) -> None:
        """Take a loss of packets.

        Nothing can be matched until an F element after the next Trace Info.
        """
        self._open.clear()
        self._known = False
        self.flushes[-1].complete = False


class ConditionalHandlers:
    """Handlers of the packets of C and R elements.

    :param config: The unit's configuration.
    :param queue: Takes the elements.
    """

    def __init__(self, config: Etmv4Config, queue: ResultQueue) -> None:
        self._keys = ConditionKeys(config)
        self._queue = queue

    def handlers(self) -> Dict[Kind, Callable[[bytes, int, int], None]]:
        """Give the handler of each kind of packet: ``handler(data, at, position)``."""
        return {kind: partial(self._on_packet, kind) for kind in CONDITIONAL_KINDS}

    def inform(self, info: TraceInfo) -> None:
        """Take a Trace Info packet."""
        selection = info.info >> 1 & 7
        self._keys.reset()
        if selection in SELECTIONS:
            self._queue.inform(selection)
        else:
            self._queue.lose()

    def lose(self) -> None:
        """Take a packet that could not be read."""
        self._keys.lose()
        self._queue.lose()

    def _on_packet(self, kind: Kind, data: bytes, at: int, position: int) -> None:
        elements = self._keys.read(kind, data, at)
        if elements is None:
            self._queue.lose()
            return
        for element in elements:
            self._queue.take(element)
