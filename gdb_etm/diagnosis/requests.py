"""Who asked for a handler, by SVC."""

from __future__ import annotations

from gdb_etm.diagnosis.scene import Scene
from gdb_etm.program.isa import Isa

# The upper byte of SVC: T1 (Armv8-M ARM, C2.4), and A1 without the condition (DDI 0487, F5.1).
_SVC_T32, _SVC_A32 = 0xDF, 0x0F


def asked_at(scene: Scene, number: int) -> int:
    """Find the SVC that asked for the handler of an instruction.

    :param number: The instruction's.
    :returns: That of the SVC; without one the same again.
    """
    activation = scene.activation(number)
    frames = scene.interrupted_frames(activation) if activation is not None else []
    last = scene.template(frames[0][1]) if frames else None
    if last is None:
        return number
    code = scene.history.program.read(last.address, last.size)
    is_request = code[1] == _SVC_T32 if last.isa is Isa.T32 else code[3] & 0x0F == _SVC_A32
    return frames[0][1] if is_request else number
