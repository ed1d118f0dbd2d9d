"""Values that an instruction cuts to fewer bits, and so changes."""

from __future__ import annotations

from typing import Dict, Iterator, Mapping, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.diagnosis.scene import Scene
from gdb_etm.diagnosis.slice import Node
from gdb_etm.diagnosis.suspicion import Suspicion, SuspicionKind
from gdb_etm.recovery.lift.evaluate import IMPURE, apply
from gdb_etm.recovery.lift.operations import SLOTS, TEMPORARY, Op
from gdb_etm.recovery.makers import MakerKind, RegisterPlace
from gdb_etm.recovery.values import Tier

_NAMES = {slot: name for name, slot in SLOTS.items()}
# Bits of C's small integers, and of a register.
_SMALL, _WORD = (8, 16), 32


def narrowed(scene: Scene, path: Sequence[Node]) -> Optional[Suspicion]:
    """Say what a step cuts off a value: no mistake in itself.

    What makes no difference later is not cut off: the value is whole again, or what lies above is masked out.

    :param path: What was made of it, nearest to the fault first; then the step.
    """
    node, reader = path[-1], path[-2] if len(path) > 1 else None
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
    if any(scene.value(one.place).value == before for one in path[:-1]) or not _matters(scene, path, before):
        return None
    text = "cuts 0x%08x to %d bits, which makes it 0x%08x" % (before, bits, after)
    return Suspicion(SuspicionKind.ORIGIN, maker.number, text, maker.tier)


def _cut(before: Optional[int], bits: int, read: Optional[int] = None) -> Optional[Tuple[int, int, int]]:
    # A negative number stays what it is, unless it is read as another one.
    if before is None or bits not in _SMALL or before >> bits == 0:
        return None
    after = before & (1 << bits) - 1
    is_negative = before >> bits - 1 == (1 << _WORD - bits + 1) - 1
    return None if is_negative and read != after else (before, bits, after)


def _matters(scene: Scene, path: Sequence[Node], value: int) -> bool:
    # Whether something else would have been made of the value if nobody cut it.
    for source, node in zip(path[::-1], path[-2::-1]):
        if node.maker.kind is not MakerKind.COMPUTED or not isinstance(node.place, RegisterPlace):
            continue
        given = {SLOTS[source.place.name]: value} if isinstance(source.place, RegisterPlace) else {}
        made = [
            step.result for step in _steps(scene, node.maker.number, given) if SLOTS[node.place.name] in step.outputs
        ]
        if not made or made[-1] is None or made[-1] == scene.value(node.place).value:
            return not made or made[-1] is None
        value = made[-1]
    return True


def _extended(scene: Scene, number: int) -> Optional[Tuple[int, int, int]]:
    for step in _steps(scene, number):
        if (
            step.result is not None
            and step.op == Op.SIGN
            and step.detail[0] in _SMALL
            and step.result != step.inputs[0]
        ):
            return step.inputs[0], step.detail[0], step.result
        if step.result is not None and step.is_cut:
            found = _cut(step.inputs[0], step.detail[2])
            if found is not None:
                return found
    return None


class _Step(NamedTuple):
    # An operation of an instruction, with the values that are known of it.
    op: int
    outputs: Sequence[int]
    inputs: Sequence[int]
    detail: Sequence[int]
    result: Optional[int]

    @property
    def is_cut(self) -> bool:
        return self.op == Op.BITS and tuple(self.detail[:2]) == (0, 0) and self.inputs[1] == 0


def _steps(scene: Scene, number: int, given: Optional[Mapping[int, int]] = None) -> Iterator[_Step]:
    # With other values of registers than they had, if some are given; what is cut off these stays.
    template = scene.template(number)
    known: Dict[int, Optional[int]] = dict(given or {})

    def value(slot: int) -> Optional[int]:
        if slot < 0:
            return ~slot
        if slot not in known and slot < TEMPORARY:
            known[slot] = scene.register(number, _NAMES[slot]) if slot in _NAMES else None
        return known.get(slot)

    for op, outputs, inputs, detail in template.steps if template is not None else ():
        values = [one for one in map(value, inputs) if one is not None]
        result = apply(op, detail, values) if op not in IMPURE and len(values) == len(inputs) else None
        step = _Step(op, outputs, values, detail, result)
        if given and result is not None and (step.is_cut or op == Op.SIGN):
            step = step._replace(result=values[0])
        yield step
        for slot in outputs:
            known[slot] = step.result
