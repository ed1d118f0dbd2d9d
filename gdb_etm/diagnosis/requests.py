"""Who asked for a handler, by SVC."""

from __future__ import annotations

from gdb_etm.diagnosis.scene import Scene
from gdb_etm.recovery.lift.template import is_svc


def asked_at(scene: Scene, number: int) -> int:
    """Find the SVC that asked for the handler of an instruction.

    :param number: The instruction's.
    :returns: That of the SVC; without one the same again.
    """
    activation = scene.activation(number)
    frames = scene.interrupted_frames(activation) if activation is not None else []
    last = scene.template(frames[0][1]) if frames else None
    if last is None or not is_svc(scene.history.program.read(last.address, last.size), last.isa):
        return number
    return frames[0][1]
