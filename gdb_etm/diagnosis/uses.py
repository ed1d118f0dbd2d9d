"""What was made of a value: a forward slice of what ran."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.diagnosis.operands import feeding
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.recovery.lift.operations import SLOTS, TEMPORARY
from gdb_etm.recovery.lift.template import FLAGS, Template
from gdb_etm.recovery.makers import Maker, MemoryPlace, Place, RegisterPlace

# Instructions that are looked at.
_MOST = 2000
_NAMES = {slot: name for name, slot in SLOTS.items()}
# The value itself: an index of no use.
_ROOT = -1


class Use(NamedTuple):
    """An instruction that read a value, or what was made of it."""

    number: int
    # What it wrote, and from what; None where it only looked.
    place: Optional[Place]
    maker: Optional[Maker]
    # "loaded", "stored", "computed" and so on; "compared", "address" or "branch" where it only looked.
    made: str
    # The index of the use that it goes on from; None for the value itself.
    parent: Optional[int]


class Uses(NamedTuple):
    """What was made of a value."""

    uses: Tuple[Use, ...]
    looked_at: int
    # Whether a register or memory still held it then.
    is_held: bool


def find_uses(scene: Scene, place: Place, most: int = _MOST) -> Uses:
    """Find what was made of a value.

    :param place: Where it is, before the first instruction that is looked at.
    :param most: How many instructions are looked at.
    """
    found = _Forward(scene, place)
    looked = 0
    for number in range(place.number, min(place.number + most, len(scene.history) + 1)):
        found.step(number)
        looked += 1
        if not found.is_held:
            break
    return Uses(tuple(found.uses), looked, found.is_held)


class _Forward:
    def __init__(self, scene: Scene, place: Place) -> None:
        self._scene = scene
        self.uses: List[Use] = []
        # What holds it: memory by byte, and the registers of each thread and handler; with the use that put it there.
        self._memory: Dict[int, int] = {}
        self._registers: Dict[object, Dict[str, int]] = {}
        if isinstance(place, RegisterPlace):
            self._registers[scene.context(place.number)] = {place.name: _ROOT}
        else:
            self._memory = dict.fromkeys(range(place.address, place.address + place.size), _ROOT)

    @property
    def is_held(self) -> bool:
        return bool(self._memory) or any(self._registers.values())

    def step(self, number: int) -> None:
        template = self._scene.template(number)
        if template is None:
            return
        held = self._registers.setdefault(self._scene.context(number), {})
        reads = any(_NAMES.get(slot) in held for _, _, inputs, _ in template.steps for slot in inputs)
        loads = [one for one in self._scene.accesses(number) if not one.store and one.address is not None]
        is_hot = reads or any(self._held(one.address or 0, one.size) is not None for one in loads)
        before = len(self.uses)
        written = self._written(number, template, held, is_hot)
        self._stored(number, held)
        if is_hot and len(self.uses) == before:
            self._looked(number, template, held)
        for name, at in written.items():
            if at is None:
                held.pop(name, None)
            else:
                held[name] = at

    def _held(self, address: int, size: int) -> Optional[int]:
        found = [self._memory[one] for one in range(address, address + size) if one in self._memory]
        return max(found) if found else None

    def _source(self, sources: Sequence[Place], held: Dict[str, int]) -> Optional[int]:
        found: List[int] = []
        for one in sources:
            at = held.get(one.name) if isinstance(one, RegisterPlace) else self._held(one.address, one.size)
            found += [] if at is None else [at]
        return max(found) if found else None

    def _written(self, number: int, template: Template, held: Dict[str, int], is_hot: bool) -> Dict[str, Optional[int]]:
        # The registers that an instruction writes, with the use that each is; None of what has nothing of the value.
        written: Dict[str, Optional[int]] = {}
        for slot in template.writes:
            if slot >= TEMPORARY or slot in FLAGS or slot not in _NAMES:
                continue
            place = RegisterPlace(number + 1, _NAMES[slot])
            maker = self._scene.maker(place) if is_hot else None
            if maker is not None and maker.number != number:
                continue
            at = self._source(maker.sources, held) if maker is not None else None
            written[place.name] = self._add(number, place, maker, at) if at is not None and maker is not None else None
        return written

    def _stored(self, number: int, held: Dict[str, int]) -> None:
        for one in self._scene.accesses(number):
            if not one.store or one.address is None:
                continue
            place = MemoryPlace(number + 1, one.address, one.size)
            maker = self._scene.maker(place) if held else None
            at = self._source(maker.sources, held) if maker is not None and maker.number == number else None
            use = self._add(number, place, maker, at) if at is not None and maker is not None else None
            for byte in range(one.address, one.address + one.size):
                if use is None:
                    self._memory.pop(byte, None)
                else:
                    self._memory[byte] = use

    def _add(self, number: int, place: Place, maker: Maker, at: int) -> int:
        self.uses.append(Use(number, place, maker, maker.kind.value, _parent(at)))
        return len(self.uses) - 1

    def _looked(self, number: int, template: Template, held: Dict[str, int]) -> None:
        # What neither a register nor memory has kept: a comparison, an address, a branch.
        target = self._scene.target(number) if template.target is not None else None
        at = self._source(target.sources, held) if target is not None else None
        made = "branch"
        if at is None:
            made, at = "address", self._source(self._scene.address_of(number), held)
        if at is None:
            flags = [slot for slot in template.writes if slot in FLAGS]
            names = {name for slot in flags for name in feeding(template.steps, len(template.steps), slot)}
            made, at = "compared", max([held[name] for name in names if name in held], default=None)
        if at is not None:
            self.uses.append(Use(number, None, None, made, _parent(at)))


def _parent(at: int) -> Optional[int]:
    return None if at == _ROOT else at
