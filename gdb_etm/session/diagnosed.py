"""The diagnosis of a history's end, made once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Mapping, NamedTuple, Optional

from gdb_etm.diagnosis.changed import AtFault, at_fault, last_fault
from gdb_etm.diagnosis.diagnose import Diagnosis, diagnose
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.diagnosis.site import may_be_wrong
from gdb_etm.errors import CommandError
from gdb_etm.protocols.elements import Exception_, is_reset
from gdb_etm.protocols.garbage import garbage_uncollected
from gdb_etm.protocols.profile import is_m_profile
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.fault_hint import fault_of
from gdb_etm.session.past import recovered
from gdb_etm.session.recovered import Recovered
from gdb_etm.session.scenes import scene_for
from gdb_etm.session.session import DebugSession

if TYPE_CHECKING:
    from gdb_etm.diagnosis.status import FaultStatus  # with pages of registers, which take a while to import


class NothingWrong(CommandError):
    """A history that ends with no fault."""


class Diagnosed(NamedTuple):
    """Why a program went wrong, and what that was made from."""

    decoded: Decoded
    known: Recovered
    scene: Scene
    status: FaultStatus
    diagnosis: Diagnosis


def diagnosed(session: DebugSession, trace_id: Optional[int] = None) -> Diagnosed:
    """Find out why the program of the shown history went wrong.

    :raises NothingWrong: It did not.
    :raises CommandError: There is no history, or no value of it is worked out.
    """
    return diagnosed_of(session, session.shown(trace_id))


def diagnosed_of(session: DebugSession, decoded: Decoded) -> Diagnosed:
    """Find out why the program went wrong that a history is of.

    :raises NothingWrong: It did not.
    :raises CommandError: No value of it is worked out.
    """
    known = recovered(session, decoded)
    end = decoded.anchored.end
    registers: Mapping[str, int] = end.registers if end is not None else {}
    # It makes nothing that refers to itself, and what is recovered is much to look through.
    with garbage_uncollected(), known.unchanged():
        scene = scene_for(session, decoded, known)
        # A reset is what it is, whatever the core's state.
        if end is None and (last_fault(scene) is not None or not decoded.history.exceptions(is_reset)):
            raise CommandError("the core's state at the end of this history is not known")
        found = None
        if may_be_wrong(scene, registers.get("pc", 0)):
            known.solve(len(decoded.history) + 1, session.meter)
            changed = at_fault(scene, registers)
            found = diagnose(scene, changed.registers)
    if found is None:
        raise NothingWrong(_nothing(registers))
    return Diagnosed(decoded, known, scene, _status(decoded, changed, found.site.event), found)


def _nothing(registers: Mapping[str, int]) -> str:
    exception = fault_of(registers)
    if exception is None:
        return 'this history ends with no fault and no failed assertion; "etm origin" explains a value'
    from gdb_etm.diagnosis.status import fault_status

    text = "the core handles %s, and how it came to that is not in this history: what ran since has filled it, or trace"
    text += " was lost; a breakpoint at the handler's beginning halts in time"
    return text % fault_status(registers, exception).brief


def _status(decoded: Decoded, changed: AtFault, event: Optional[Exception_]) -> FaultStatus:
    if not is_m_profile(decoded.history.source.core):
        from gdb_etm.diagnosis.status import abort_status

        return abort_status(changed.registers, event)
    from gdb_etm.diagnosis.status import fault_status

    return fault_status(changed.registers, event.vector if event is not None else None, changed.notes)
