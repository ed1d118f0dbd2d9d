"""The site of a fault: its instruction and the bad operands."""

from __future__ import annotations

import re
from typing import Callable, Mapping, NamedTuple, Optional, Tuple

from gdb_etm.diagnosis.aborts import Abort, abort_of
from gdb_etm.diagnosis.bad import FAR_AWAY, NO_MEMORY, NOT_WRITABLE, Bad
from gdb_etm.diagnosis.causes import FAULTS, HARD_FAULT, PREFETCH_ABORT, UNDEFINED, is_fault
from gdb_etm.diagnosis.changed import last_fault
from gdb_etm.diagnosis.decisions import compared, decides
from gdb_etm.diagnosis.late import LateStore, StoreDoubt, late_stores
from gdb_etm.diagnosis.library import is_report
from gdb_etm.diagnosis.operands import Operand, operands
from gdb_etm.diagnosis.reported import is_reported, is_reported_alone
from gdb_etm.diagnosis.requests import asked_at, masks, refuses
from gdb_etm.diagnosis.scene import ActivationSpan, Scene
from gdb_etm.diagnosis.targets import is_data, is_even, target, went_to, why_not_code
from gdb_etm.program.isa import Isa
from gdb_etm.program.modes import status_name
from gdb_etm.protocols.elements import Exception_, Gap, GapReason, is_reset
from gdb_etm.recovery.lift.template import Template
from gdb_etm.recovery.makers import MemoryPlace, RegisterPlace

_VTOR, _WORD = 0xE000ED08, 4
# Where M-profile's memory map has devices (Armv8-M ARM, B8.1).
_PERIPHERALS = range(0x40000000, 0x60000000)
# CPSR.T.
_THUMB = 1 << 5
# Registers of an instruction.
_NAMES = (*("r%d" % number for number in range(13)), "sp", "lr")
_FAILURE = re.compile(
    r"assert|abort|panic|fatal|stack_chk_fail|failed|error_handler|pure_virtual|terminate", re.IGNORECASE
)
# What a throw statement calls (Itanium C++ ABI, 2.4.3).
_THROW = re.compile(r"\b__cxa_(re)?throw\b")
# What libstdc++ calls instead, which aborts where that is built without exceptions.
_THROWS = re.compile(r"std::__throw_|_ZSt\d+__throw_")
_OF_FETCHES = ("INVSTATE", "INVPC", "IBUSERR", "IACCVIOL")
# Addresses below it are NULL and a distance.
NEAR_NULL = 0x1000
# Why an address is wrong, and where that showed.
_RAN = "%s; what ran there faulted at 0x%08x"
# Instructions back to the branch that decided for a call.
_REACH = 200


class FaultSite(NamedTuple):
    """Where a program went wrong."""

    # The fault's exception; None where the program noticed by itself.
    #
    # With a failure, too: it is of what reports that.
    event: Optional[Exception_]
    # The last instruction before.
    number: int
    # The address of the instruction that faulted, or where execution could not go on.
    address: Optional[int]
    # Whether that instruction is the last that ran: a branch to where execution could not go on.
    is_branch: bool
    # The function that noticed, such as an assertion's; None of a fault.
    failure: Optional[ActivationSpan]
    # What is bad, the worst first.
    bad: Tuple[Bad, ...]
    # Where the fault was reported late, the stores that it may be of, the likeliest first: if it must be the first one,
    # the site is that one's.
    late: Tuple[LateStore, ...] = ()

    @property
    def is_uncaught(self) -> bool:
        """Whether it is an exception of C++ that has ended the program."""
        return self.failure is not None and self.failure.function is not None and _is_throw(self.failure.function.name)

    @property
    def is_undefined(self) -> bool:
        """Whether an A-profile core found no instruction there that it could run."""
        return self.event is not None and self.event.name == UNDEFINED

    @property
    def is_address(self) -> bool:
        """Whether the worst is where a branch went, or what was accessed."""
        return bool(self.bad) and (self.is_branch or bool(self.bad[0].access))

    @property
    def is_pointer(self) -> bool:
        """Whether the worst is a plain pointer that leads nowhere."""
        return bool(self.bad) and len(self.bad[0].places) == 1 and (self.is_branch or bool(self.bad[0].why))


class _Reported(NamedTuple):
    # Addresses that the core says are bad, None of one that it does not tell; and why.
    addresses: Tuple[Optional[int], ...]
    why: str


def find_site(scene: Scene, registers: Mapping[str, int]) -> Optional[FaultSite]:
    """Find where a program went wrong, from what ran before its halt.

    :param registers: Of the core at the halt, with ``cfsr`` where it is known.
    :returns: None where nothing did.
    """
    fault = last_fault(scene)
    if fault is not None:
        return _vector(scene, *fault) or _reporting(scene, *fault) or _fault(scene, *fault, registers)
    resets = [(before, event) for before, event in scene.history.exceptions(is_reset) if before]
    return _reset(scene, *resets[-1]) if resets else _failure(scene, registers.get("pc", 0))


def may_be_wrong(scene: Scene, pc: int) -> bool:
    """Check, without the past's values, whether anything may be wrong.

    :param pc: Of the core at the halt.
    """
    if last_fault(scene) is not None or any(before for before, _ in scene.history.exceptions(is_reset)):
        return True
    return _outermost(scene, len(scene.history), _FAILURE.search, True) is not None or _is_failure(scene, pc)


def handled_fault(scene: Scene, number: int) -> Optional[Tuple[int, Exception_]]:
    """Give the fault whose handler an instruction is of.

    :returns: The number of the instruction before it, and the fault.
    """
    activation = scene.activation(number)
    frame = activation.frame if activation is not None else None
    while frame is not None:
        if frame.event is not None and frame.called_at is not None and is_fault(frame.event):
            return frame.called_at, frame.event
        frame = frame.up
    return None


def _vector(scene: Scene, number: int, fault: Exception_) -> Optional[FaultSite]:
    # An exception whose handler has executed nothing: its vector is bad.
    found = [event for event in scene.history.events_after(number) if isinstance(event, Exception_)]
    at = found.index(fault)
    event = found[at - 1]
    if not at or event.vector is None or event.vector in FAULTS:
        return None
    table = [one.number for one in scene.index.touching(_VTOR, _WORD) if one.store]
    origins = scene.recovery.origins(table[-1]) if table else None
    stored = [origins.stored(table[-1], _VTOR + index) for index in range(_WORD)] if origins is not None else []
    base = sum((one[1] or 0) << 8 * index for index, one in enumerate(stored) if one is not None)
    place = MemoryPlace(number, base + _WORD * event.vector, _WORD)
    value = scene.value(place).value
    why = why_not_code(scene, value, value or 0)
    return FaultSite(fault, number, None, False, None, (Bad("the vector of %s" % event.name, value, why, (place,)),))


def _reporting(scene: Scene, number: int, event: Exception_) -> Optional[FaultSite]:
    # A fault of what was to tell of a mistake: that is the one that matters.
    found = _outermost(scene, number, is_report, False)
    called_at = found.frame.called_at if found is not None else None
    if found is None or called_at is None:
        at = event.return_address
        # Its first instruction is a trap.
        is_entered = at is not None and is_report(scene.names.beginning(at))
        site = FaultSite(event, number, scene.index.address(number), True, None, _condition(scene, number))
        return site if is_entered else None
    # A library reports for those who have called it.
    called_at = scene.user(called_at)
    return FaultSite(event, called_at, scene.index.address(called_at), False, found, _condition(scene, called_at))


def _reset(scene: Scene, number: int, event: Exception_) -> FaultSite:
    # What was going on: the loop that did not end, of what a handler may have interrupted.
    activation = scene.activation(number)
    frames = scene.interrupted_frames(activation) if activation is not None else []
    at = frames[0][1] if frames else number
    return FaultSite(event, at, None, False, None, _condition(scene, at))


def _fault(scene: Scene, number: int, event: Exception_, registers: Mapping[str, int]) -> FaultSite:
    abort = abort_of(registers, event) if not scene.is_m_profile else None
    if is_reported_alone(registers, "IMPRECISERR") or abort is not None and abort.is_late:
        return _late(scene, number, event)
    address = event.return_address
    if event.vector == HARD_FAULT and refuses(scene, number, address):
        return FaultSite(event, number, None, False, None, masks(scene, number))
    if address is not None and not scene.is_m_profile:
        scene.tell_isa(address, _failed_isa(scene, number, registers))
    fetches = any(is_reported(registers, name) for name in _OF_FETCHES) or event.name == PREFETCH_ABORT
    last = scene.template(number)
    is_branch = last is not None and last.target is not None
    unknown = _left_to(scene, number, event)
    if unknown is not None and last is not None and address is not None and address & ~1 != unknown & ~1:
        return FaultSite(event, number, unknown, is_branch, None, _ran_on(scene, number, last, unknown, address))
    if address is None and is_branch and fetches:
        # An ETMv3 does not trace where a branch went that nothing was executed at.
        address = went_to(scene, number)
    fetches = fetches or last is not None and is_branch and is_even(scene, number, last)
    if address is not None and is_reported(registers, "UNDEFINSTR"):
        fetches = fetches or is_data(scene, address)
    data = _data_run(scene, number, address, registers) if address is not None and not fetches else None
    if data is not None:
        return data._replace(event=event)
    if is_branch and address is not None and (fetches or not scene.history.program.read(address & ~1, 2)):
        return FaultSite(event, number, address, True, None, target(scene, number, last, address, registers))
    bad = _accessed(scene, number, address, _reported(registers, abort))
    # An instruction that is undefined on purpose is how a program says that it has noticed.
    return FaultSite(event, number, address, False, None, bad or _condition(scene, number))


def _left_to(scene: Scene, number: int, event: Exception_) -> Optional[int]:
    # Where a branch went to code that is in no file, if nothing but that ran until a fault.
    events = scene.history.events_after(number)
    before = events[: events.index(event)]
    gaps = [one for one in before if isinstance(one, Gap)]
    return gaps[0].address if len(before) == 1 and gaps and gaps[0].reason is GapReason.NO_CODE else None


def _ran_on(scene: Scene, number: int, last: Template, address: int, end: int) -> Tuple[Bad, ...]:
    # It could execute there, which by what is in a file it should not.
    bad = target(scene, number, last, address, {})
    is_ram = scene.is_ram(address)
    return tuple([one._replace(why=_RAN % (one.why if is_ram else "in no file's code", end)) for one in bad])


def _data_run(scene: Scene, number: int, address: int, registers: Mapping[str, int]) -> Optional[FaultSite]:
    # The branch to data that was executed until it faulted: what that did says nothing.
    if not is_data(scene, address):
        return None
    branch = number
    while branch > max(number - _REACH, 1) and is_data(scene, scene.index.address(branch)):
        branch -= 1
    last = scene.template(branch)
    if last is None or last.target is None or last.target < 0:
        return None
    to = address if branch == number else scene.index.address(branch + 1)
    bad = target(scene, branch, last, to, registers)
    if branch != number:
        bad = tuple([one._replace(why=_RAN % (one.why, address)) for one in bad])
    return FaultSite(None, branch, to, True, None, bad)


def _late(scene: Scene, number: int, event: Exception_) -> FaultSite:
    found = tuple(late_stores(scene, number))
    if not found or not found[0].is_sure and len(found) > 1:
        return FaultSite(event, number, None, False, None, (), found)
    one = found[0]
    why = {
        StoreDoubt.NO_MEMORY: NO_MEMORY,
        StoreDoubt.NOT_WRITABLE: NOT_WRITABLE,
        StoreDoubt.DEVICE: "a device's",
        StoreDoubt.FAR: FAR_AWAY,
    }.get(one.doubt, "")
    bad = Bad("the store's address", one.address, why, one.places, "store")
    return FaultSite(event, one.number - 1, scene.index.address(one.number), False, None, (bad,), found)


def _failed_isa(scene: Scene, number: int, registers: Mapping[str, int]) -> Isa:
    # That of the code that an A-profile core's handler interrupted.
    status = registers.get(status_name(registers.get("cpsr", 0)) or "")
    if status is None:
        return scene.history.instruction(number).isa
    return Isa.T32 if status & _THUMB else Isa.A32


def _reported(registers: Mapping[str, int], abort: Optional[Abort]) -> _Reported:
    # The addresses of a data access that the core says it could not do.
    if abort is not None:
        return _Reported((abort.address,), abort.why)
    if not is_reported(registers, "PRECISERR"):
        return _Reported((), "")
    return _Reported((registers.get("bfar") if is_reported(registers, "BFARVALID") else None,), NO_MEMORY)


def _accessed(scene: Scene, number: int, address: Optional[int], reported: _Reported) -> Tuple[Bad, ...]:
    template = scene.template_at(address & ~1, number) if address is not None else None
    if template is None:
        return ()
    for name in _NAMES:
        value, maker = scene.interrupted(number, name)
        scene.put(RegisterPlace(number + 1, name), value, maker)

    def read(name: str) -> Optional[int]:
        return scene.value(RegisterPlace(number + 1, name)).value

    wanted = operands(template, read)
    if len({one.value for one in wanted if one.size}) == 1 and None in reported.addresses:
        # The only one.
        reported = reported._replace(addresses=tuple([one.value for one in wanted]))
    found = [_bad(scene, one, number, reported) for one in wanted]
    return tuple(sorted(found, key=lambda one: not one.why))


def _bad(scene: Scene, one: Operand, number: int, reported: _Reported) -> Bad:
    places = [RegisterPlace(number + 1, name) for name in one.registers]
    if one.what == "divide":
        return Bad("the divisor", one.value, "0" if one.value == 0 else "", tuple(places))
    value, why, unit = one.value, "", 0
    if value is not None and value in reported.addresses:
        why = _refused(scene, value, one.what) if reported.why == NO_MEMORY else reported.why
    elif value is None or not scene.is_m_profile:
        # What is where each chip decides, of A-profile.
        why = ""
    elif not scene.is_mapped(value):
        why = NO_MEMORY
    elif one.size > 1 and value % one.size:
        why, unit = "not a multiple of %d" % one.size, one.size
    elif one.what == "store" and not scene.is_ram(value):
        why = NOT_WRITABLE if scene.history.program.read(value, 1) else ""
    # An index or a pointer that leads nowhere comes before one that leads to memory.
    places.sort(key=lambda place: _is_plausible(scene, place))
    return Bad("the %s's address" % one.what, value, why, tuple(places), one.what, unit)


def _refused(scene: Scene, address: int, what: str) -> str:
    # Why the bus answered with an error: where something is, it may refuse.
    if what == "store" and not scene.is_ram(address) and scene.history.program.read(address, 1):
        return NOT_WRITABLE
    is_device = scene.is_m_profile and address in _PERIPHERALS
    return "where devices are: none answers there, or it refuses" if is_device else NO_MEMORY


def _is_plausible(scene: Scene, place: RegisterPlace) -> bool:
    value = scene.value(place).value
    return value is not None and scene.is_mapped(value)


def _failure(scene: Scene, pc: int) -> Optional[FaultSite]:
    # A function that a program calls when it has noticed: the outermost.
    number = len(scene.history)
    found = _outermost(scene, number, _FAILURE.search, True)
    called_at = found.frame.called_at if found is not None else None
    if found is not None and called_at is None and found.function is not None and is_report(found.function.name):
        return _begun_before(scene, found)
    last = scene.template(number) if number else None
    if called_at is None and last is not None and _is_failure(scene, pc):
        indirect = last.target is not None and last.target >= 0
        bad = target(scene, number, last, pc, {}) if indirect else _condition(scene, number)
        # It went to a function.
        return FaultSite(None, number, last.address, False, None, tuple([one._replace(why="") for one in bad]))
    if found is None or called_at is None:
        return None
    called_at = asked_at(scene, called_at)
    site = FaultSite(None, called_at, scene.index.address(called_at), False, found, ())
    up = found.frame.up
    if site.is_uncaught or up is not None and up.function is not None and _THROWS.match(up.function.name):
        # A library throws for those who have called it.
        called_at = scene.user(called_at)
        site = site._replace(number=called_at, address=scene.index.address(called_at))
    return site if site.is_uncaught else site._replace(bad=_condition(scene, called_at))


def _begun_before(scene: Scene, failure: ActivationSpan) -> FaultSite:
    # What it was called for is older than the history: it is known how it ended.
    number = len(scene.history)
    for one, called_at in scene.callers(scene.activation(number) or failure):
        if one is failure:
            number = called_at
    return FaultSite(None, number, scene.index.address(number), False, failure, ())


def _outermost(scene: Scene, number: int, names: Callable[[str], object], below: bool) -> Optional[ActivationSpan]:
    # The outermost active function with such a name, or the throw that called it; also below handlers, if asked for.
    activation = scene.activation(number)
    frames = [(activation, 0), *scene.callers(activation)] if activation is not None else []
    frames += scene.interrupted_frames(activation) if activation is not None and below else []
    found: Optional[ActivationSpan] = None
    for one, _ in frames:
        if one.function is not None and (names(one.function.name) or found and _is_throw(one.function.name)):
            found = one
    return found


def _is_failure(scene: Scene, pc: int) -> bool:
    return bool(_FAILURE.search(scene.names.beginning(pc)))


def _is_throw(name: str) -> bool:
    return bool(_THROW.search(name))


def _condition(scene: Scene, called_at: int) -> Tuple[Bad, ...]:
    # What the nearest branch before a call has decided on.
    own = scene.activation(called_at)
    for number in range(called_at, max(called_at - _REACH, 0), -1):
        template = scene.template(number)
        if scene.activation(number) is own and template is not None and decides(template):
            return (Bad("the condition", None, "", compared(scene, number)),)
    return ()
