"""Who asked for a handler, by SVC."""

from __future__ import annotations

from typing import Optional, Tuple

from gdb_etm.diagnosis.bad import Bad
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.recovery.lift.template import Template, is_svc
from gdb_etm.recovery.makers import MakerKind, RegisterPlace

# What masks SVC; BASEPRI does where SVC's priority is no higher (Armv8-M ARM, B3.9).
_MASKS = (("primask", ""), ("faultmask", ""), ("basepri", " where SVC's priority is no higher"))
# What decides whether a mask can be written.
_ALLOWING = ("control", "handler")


def asked_at(scene: Scene, number: int) -> int:
    """Find the SVC that asked for the handler of an instruction.

    :param number: The instruction's.
    :returns: That of the SVC; without one the same again.
    """
    activation = scene.activation(number)
    frames = scene.interrupted_frames(activation) if activation is not None else []
    last = scene.template(frames[0][1]) if frames else None
    return frames[0][1] if last is not None and _is_svc(scene, last) else number


def refuses(scene: Scene, number: int, address: Optional[int]) -> bool:
    """Check whether an SVC was the last before a HardFault.

    :param address: Where the HardFault returns to; None where that is not known.
    """
    last = scene.template(number)
    return last is not None and _is_svc(scene, last) and address in (None, last.address + last.size)


def masks(scene: Scene, number: int) -> Tuple[Bad, ...]:
    """List the masks that were set at an SVC."""
    found = []
    for name, when in _MASKS:
        place = RegisterPlace(number, name)
        value, maker = scene.value(place), scene.maker(place)
        if value.value:
            ways = [
                one for one in maker.sources if isinstance(one, RegisterPlace) and one.name not in (*_ALLOWING, name)
            ]
            if maker.kind is MakerKind.COMPUTED:
                kind = maker.kind if ways else MakerKind.CONSTANT
                scene.put(place, value, maker._replace(kind=kind, sources=tuple(ways)))
            found.append(Bad(name.upper(), value.value, "it masks SVC%s" % when, (place,)))
    return tuple(found)


def _is_svc(scene: Scene, one: Template) -> bool:
    return is_svc(scene.history.program.read(one.address, one.size), one.isa)
