"""Data transfers put with the instructions and exceptions of a recording.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv4.0 to ETMv4.6 (IHI 0064 H.a), 2.2.3, 5.4.5 and F.2.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.program.blocks import Blocks
from gdb_etm.program.isa import Isa
from gdb_etm.program.transfers import (
    EXCEPTION_ENTRY,
    EXCEPTION_RETURN,
    FUNCTION_RETURN,
    LAZY_PUSH,
    Parts,
    transfers,
)
from gdb_etm.protocols.elements import DataGap, Event, Exception_, Gap, GapReason, Transfer
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.data.association import Association, Match, associate
from gdb_etm.protocols.etmv4.data.elements import DataElement
from gdb_etm.protocols.etmv4.exceptions import LAZY_FP_PUSH
from gdb_etm.protocols.etmv4.log import Log, Parent
from gdb_etm.protocols.recorder import DataCounts, Recorder

_SKIPPED = GapReason.NOT_SYNCHRONISED
_MASK32 = 0xFFFFFFFF
_MASK64 = 0xFFFFFFFFFFFFFFFF


def put_transfers(
    recorder: Recorder, log: Log, elements: Sequence[DataElement], config: Etmv4Config, blocks: Blocks
) -> None:
    """Add a data stream's transfers and gaps to a recording.

    :param recorder: The recording; its stream is at its end.
    :param log: The log of its stream.
    :param elements: The elements of the data stream beside it.
    :param config: The unit's configuration.
    :param blocks: Blocks of the program that ran.
    """
    found = associate(log.items, elements, config.p0_keys, _is_from_start(recorder, elements))
    placement = _Placement(recorder, log, blocks)
    families: Dict[int, List[Match]] = {}
    for match in found.matches:
        families.setdefault(id(match.parent), []).append(match)
    unexecuted = 0
    for family in families.values():
        parent = family[0].parent
        if parent.entry < 0 and parent.event < 0:
            unexecuted += len(family)
            continue
        made = placement.transfers(family)
        if parent.event >= 0:
            recorder.event_transfers[parent.event] = made
        else:
            recorder.transfers[parent.entry] = recorder.transfers.get(parent.entry, ()) + made
    recorder.data_counts = DataCounts(len(found.matches) - unexecuted, unexecuted)
    recorder.insert(placement.gaps(found))


def _is_from_start(recorder: Recorder, elements: Sequence[DataElement]) -> bool:
    # A stream whose first bytes are an A-Sync: what is left of one whose beginning was overwritten begins anywhere.
    first = [event for event, entry in zip(recorder.events, recorder.event_entries) if entry == 0]
    return not any(isinstance(one, Gap) and one.reason is _SKIPPED for one in (*first, *elements[:1]))


class _Maker(NamedTuple):
    # What makes transfers: their meaning by transfer index, and the width of addresses.
    parts: Parts
    mask: int


class _Placement:
    # Where P0 elements are in a recording, and what they are.

    def __init__(self, recorder: Recorder, log: Log, blocks: Blocks) -> None:
        self._recorder = recorder
        self._blocks = blocks
        self._makers: Dict[Tuple[int, int, Isa], _Maker] = {}
        # A Function Return has the entry of the branch before it (5.2.13).
        parents = [item for item in log.items if isinstance(item, Parent) and item.entry >= 0]
        self._function_returns = {id(two) for one, two in zip(parents, parents[1:]) if one.entry == two.entry}

    def transfers(self, family: Sequence[Match]) -> Tuple[Transfer, ...]:
        """Make the transfers of one parent, by transfer index."""
        parts, mask = self._maker(family[0].parent)
        ordered = sorted(family, key=lambda match: match.transfer.transfer)
        base = _base(ordered, parts)
        return tuple([_transfer(match, parts, base, mask) for match in ordered])

    def gaps(self, found: Association) -> List[Tuple[int, Event]]:
        """Place the data stream's gaps in the recording.

        Each stands after what was found last before it, or before the first of all.
        """
        reached: List[int] = []
        first = entry = -1
        for match in found.matches:
            before, after = self._around(match.parent)
            first = before if first < 0 else first
            entry = max(entry, after)
            reached.append(entry)
        result: List[Tuple[int, Event]] = []
        for count, gap in found.missing:
            entry = reached[count - 1] if count else -1
            result.append((entry if entry >= 0 else max(first, 0), DataGap(gap.offset, gap.reason, gap.detail)))
        return result

    def _around(self, parent: Parent) -> Tuple[int, int]:
        # The number of entries before it and with it; -1 when it did not run.
        if parent.event >= 0:
            entry = self._recorder.event_entries[parent.event]
            return entry, entry
        return parent.entry, parent.entry + 1 if parent.entry >= 0 else -1

    def _maker(self, parent: Parent) -> _Maker:
        if parent.event >= 0:
            event = self._recorder.events[parent.event]
            if not isinstance(event, Exception_):
                return _Maker(EXCEPTION_RETURN, _MASK32)
            return _Maker(LAZY_PUSH if event.number == LAZY_FP_PUSH else EXCEPTION_ENTRY, _MASK32)
        if id(parent) in self._function_returns:
            return _Maker(FUNCTION_RETURN, _MASK32)
        run = self._recorder.table.runs[self._recorder.order[parent.entry]]
        executed = run.legs[-1].ranges[-1]
        key = executed.start, executed.end, executed.isa
        maker = self._makers.get(key)
        if maker is None:
            maker = self._makers[key] = self._last_instruction(*key)
        return maker

    def _last_instruction(self, start: int, end: int, isa: Isa) -> _Maker:
        address = self._blocks.addresses(start, end, isa)[-1] if isa is Isa.T32 else end - 4
        parts = transfers(self._blocks.program.read(address, 4), 0, isa)
        return _Maker(parts, _MASK64 if isa is Isa.A64 else _MASK32)


def _base(family: Sequence[Match], parts: Parts) -> Optional[int]:
    # The address that transfer index 0 has or would have; None when no sibling has one, or they do not agree.
    bases = set()
    for match in family:
        index, address = match.transfer.transfer, match.transfer.address
        offset = parts[index].offset if index < len(parts) else None
        if address is not None and offset is not None:
            bases.add(address - offset)
    return bases.pop() if len(bases) == 1 else None


def _transfer(match: Match, parts: Parts, base: Optional[int], mask: int) -> Transfer:
    p1 = match.transfer
    if p1.transfer >= len(parts):
        # The instruction makes no such transfer: it cannot be the right one.
        return Transfer(p1.offset, None, None, p1.address, match.value, False)
    part = parts[p1.transfer]
    address = p1.address
    if address is None and base is not None and part.offset is not None:
        address = base + part.offset
    address = address & mask if address is not None else None
    return Transfer(p1.offset, part.store, part.size, address, match.value, match.certain, part.role)
