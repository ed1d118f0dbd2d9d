"""Values that an instruction cuts to fewer bits, and so changes."""

from __future__ import annotations

from typing import Dict, Optional, Tuple

from gdb_etm.diagnosis.scene import Scene
from gdb_etm.diagnosis.slice import Node
from gdb_etm.diagnosis.suspicion import Suspicion, SuspicionKind
from gdb_etm.recovery.lift.evaluate import IMPURE, apply
from gdb_etm.recovery.lift.operations import SLOTS, TEMPORARY, Op
from gdb_etm.recovery.makers import MakerKind
from gdb_etm.recovery.values import Tier

_NAMES = {slot: name for name, slot in SLOTS.items()}
# Bits of C's small integers, and of a register.
_SMALL, _WORD = (8, 16), 32


def narrowed(scene: Scene, node: Node, reader: Optional[Node]) -> Optional[Suspicion]:
    """Say what a step cuts off a value: no mistake in itself.

    :param reader: What was made of it.
    """
    maker = node.maker
    if node.is_address or maker.tier > Tier.ASSUMED:
        return None
    if maker.kind is MakerKind.COMPUTED:
        found = _extended(scene, maker.number)
    elif maker.kind is MakerKind.STORED and maker.accessed is not None and len(maker.sources) == 1:
        after = scene.value(reader.place).value if reader is not None else None
        found = _cut(scene.value(maker.sources[0]).value, 8 * maker.accessed.size, after)
    else:
        return None
    if found is None:
        return None
    before, bits, after = found
    text = "cuts 0x%08x to %d bits, which makes it 0x%08x" % (before, bits, after)
    return Suspicion(SuspicionKind.ORIGIN, maker.number, text, maker.tier)


def _cut(before: Optional[int], bits: int, read: Optional[int] = None) -> Optional[Tuple[int, int, int]]:
    # A negative number stays what it is, unless it is read as another one.
    if before is None or bits not in _SMALL or before >> bits == 0:
        return None
    after = before & (1 << bits) - 1
    is_negative = before >> bits - 1 == (1 << _WORD - bits + 1) - 1
    return None if is_negative and read != after else (before, bits, after)


def _extended(scene: Scene, number: int) -> Optional[Tuple[int, int, int]]:
    template = scene.template(number)
    known: Dict[int, Optional[int]] = {}

    def value(slot: int) -> Optional[int]:
        if slot < 0:
            return ~slot
        if slot not in known and slot < TEMPORARY:
            known[slot] = scene.register(number, _NAMES[slot]) if slot in _NAMES else None
        return known.get(slot)

    for op, outputs, inputs, detail in template.steps if template is not None else ():
        values = [one for one in map(value, inputs) if one is not None]
        result = apply(op, detail, values) if op not in IMPURE and len(values) == len(inputs) else None
        if result is not None and op == Op.SIGN and detail[0] in _SMALL and result != values[0]:
            return values[0], detail[0], result
        if result is not None and op == Op.BITS and detail[:2] == (0, 0) and values[1] == 0:
            found = _cut(values[0], detail[2])
            if found is not None:
                return found
        for slot in outputs:
            known[slot] = result
    return None
