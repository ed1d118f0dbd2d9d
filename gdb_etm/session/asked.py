"""The value that a user asks about: a register's or variable's."""

from __future__ import annotations

import re
from typing import NamedTuple, Optional

from gdb_etm.diagnosis.scene import ActivationSpan, Scene
from gdb_etm.diagnosis.site import FaultSite, find_site
from gdb_etm.errors import CommandError
from gdb_etm.program import places
from gdb_etm.program.frame_variables import FrameVariables
from gdb_etm.recovery.lift.operations import MASK, SLOTS
from gdb_etm.recovery.makers import MemoryPlace, Place, RegisterPlace
from gdb_etm.session.evaluation import Moment
from gdb_etm.session.objects import object_at
from gdb_etm.session.register_names import NAMES, register_name
from gdb_etm.session.scenes import scene_for, variables_of

_NAME = re.compile(r"\w+\Z")
# Instructions back to where a local variable had a place.
_REACH = 2000


class Asked(NamedTuple):
    """A value of the past that is asked about."""

    scene: Scene
    # As the user calls it.
    name: str
    place: Place
    # "before instruction 18,300, <dispatch+16>"; at a fault "at the fault, after #42,178".
    moment: str


def asked_for(at: Moment, text: str) -> Asked:
    """Find the value that is asked about.

    At the end of a history that ends in a fault it is that at the fault.

    :param text: A register, ADDRESS[,SIZE], or an expression for something that has a place.
    :raises CommandError: It has none there.
    """
    scene = scene_for(at.session, at.decoded, at.known)
    site = _site(at, scene)
    number = at.number if site is None else site.number + 1
    place: Optional[Place] = _register(scene, number, text, site)
    moment = _moment(at, scene, number, site)
    if place is not None:
        return Asked(scene, text, place, moment)
    # What an expression's pointers and indices held: before the instruction that an exception came after.
    there = at if site is None else at._replace(number=site.number)
    found = _object(there, scene, text, number)
    if found.number < (min(number, len(scene.history)) if site is None else site.number):
        moment = "%s, where it had a place for the last time" % _moment(at, scene, found.number, None)
    return Asked(scene, text, found, moment)


def _site(at: Moment, scene: Scene) -> Optional[FaultSite]:
    # Where the program went wrong, if the end is asked about.
    end = at.decoded.anchored.end
    if at.number <= len(scene.history) or at.level or end is None:
        return None
    return find_site(scene, end.registers)


def _moment(at: Moment, scene: Scene, number: int, site: Optional[FaultSite]) -> str:
    if site is not None:
        return "at the {}, after #{:,}".format("fault" if site.failure is None else "failure", site.number)
    if number > len(scene.history):
        return "at the end"
    symbol = at.session.debugger.symbol_at(scene.index.address(number))
    return "before instruction {:,}{}".format(number, ", <%s>" % symbol if symbol else "")


def _register(scene: Scene, number: int, text: str, site: Optional[FaultSite]) -> Optional[RegisterPlace]:
    try:
        name = register_name(text)
    except CommandError:
        if text.startswith("$"):
            raise
        return None
    if name == "pc":
        raise CommandError('the trace itself says where PC was: "etm history" lists it')
    if name not in SLOTS:
        raise CommandError("%s is not followed; the flags in it are n, z, c and v" % name)
    place = RegisterPlace(number, name)
    if site is not None and site.failure is None and site.event is not None and name in NAMES[:15]:
        scene.put(place, *scene.interrupted(site.number, name))
    return place


def _object(at: Moment, scene: Scene, text: str, number: int) -> Place:
    is_local = at.session.places is None
    if is_local:
        # Without a debugger static variables are found by symbols alone.
        local = _local(at, scene, text, number)
        if local is not None:
            return local
    try:
        found = object_at(at, text)
    except CommandError as error:
        local = None if is_local else _local(at, scene, text, number)
        if local is None:
            raise CommandError("%s (or ask about a register, or ADDRESS,SIZE)" % error)
        return local
    return MemoryPlace(number, found.address, found.size)


def _local(at: Moment, scene: Scene, text: str, number: int) -> Optional[Place]:
    # The place of a local variable, now or the last that it had in this activation.
    if not _NAME.match(text):
        return None
    variables = variables_of(at.session, at.decoded)[1]
    last = min(number, len(scene.history))
    activation = scene.activation(last if at.number > len(scene.history) else at.number)
    for one in range(last, max(last - _REACH, 0), -1):
        if activation is None or one < activation.first:
            break
        if scene.activation(one) is activation:
            place = _place(scene, variables, activation, text, one)
            if place is not None:
                return place
    return None


def _place(
    scene: Scene, variables: FrameVariables, activation: ActivationSpan, name: str, number: int
) -> Optional[Place]:
    for variable in variables.variables(scene.index.address(number)):
        if variable.name != name or len(variable.places) != 1:
            continue
        base, offset, size = variable.places[0]
        if offset is None:
            return RegisterPlace(number, base) if base in NAMES else None
        start = scene.cfa(activation, number) if base == places.CFA else scene.register(number, base)
        return None if start is None else MemoryPlace(number, (start + offset) & MASK, size)
    return None
