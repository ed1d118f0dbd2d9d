"""Registers of the whole trace path: planned, read, and written by hand."""

from __future__ import annotations

from typing import Dict, FrozenSet, Iterable, List, Mapping, NamedTuple, Optional, Tuple

from gdb_etm.coresight.borrowed import Borrowed
from gdb_etm.coresight.components import Component
from gdb_etm.coresight.steps import RegisterChange, Step
from gdb_etm.errors import CaptureError
from gdb_etm.registers import cortex_m, dwt, dwt_v8, funnel
from gdb_etm.registers.page import Register
from gdb_etm.traceunit.by_hand import Kept, changed, checked, is_newer, words_of
from gdb_etm.traceunit.options import TraceOptions
from gdb_etm.traceunit.parts import PartRole, PathPart, PlannedPart, read_words
from gdb_etm.traceunit.plan import Plan
from gdb_etm.traceunit.session import TraceSession

_NOT_KEPT = ("TRCPRGCTLR", "TRCITCTRL", "ETMITCTRL", "ETMSR")


class WriteResult(NamedTuple):
    """What became of a write by hand."""

    before: int
    value: int
    # What the register holds now; None where it cannot be read.
    after: Optional[int]
    # Whether the unit's next plan writes it again.
    is_kept: bool


class Bench:
    """The path of a session, laid open.

    :param session: It must be attached.
    """

    def __init__(self, session: TraceSession) -> None:
        self._session = session
        # From the processor to the buffer.
        self.parts: Tuple[PathPart, ...] = tuple(_parts(session))
        self._present: Optional[FrozenSet[str]] = None

    @property
    def unit(self) -> PathPart:
        """The trace unit."""
        return next(part for part in self.parts if part.role is PartRole.UNIT)

    def plan(self, options: TraceOptions) -> Tuple[Plan, List[PlannedPart]]:
        """Plan the whole path for a start, without touching anything.

        :returns: The unit's plan, and every part's steps in the order in which they are made.
        :raises UnsupportedError: The unit lacks what the options ask for.
        """
        session = self._session
        plan, setup = session.plan_start(options)
        links = {
            part.registers.base: link
            for link in session.links
            for part in self.parts
            if part.registers.base == link.registers.base
        }
        planned = []
        for part in self.parts:
            steps: Tuple[Step, ...] = ()
            if part.role is PartRole.PROCESSOR:
                steps = _tracing_enabled() if part.name == "SCS" else plan.dwt
            elif part.role is PartRole.UNIT:
                is_sink = session.path.sink is session.path.source
                steps = plan.steps + (session.sink.steps(setup) if is_sink else ())
            elif part.role is PartRole.LINK:
                steps = links[part.registers.base].steps()
            else:
                steps = session.sink.steps(setup)
            if steps:
                planned.append(PlannedPart(part, steps))
        return plan, planned + [PlannedPart(self.unit, session.unit.plan_enable().steps)]

    def has(self, part: PathPart, register: Register) -> bool:
        """Whether a register of a part's page is there."""
        if part.page in (dwt.PAGE, dwt_v8.PAGE):
            return register.name.strip("_ABCDEFGHIJKLMNOPQRSTUVWXYZ") in self._watchpoints(part)
        if part.role is not PartRole.UNIT:
            return True
        unit = self._session.unit
        if self._present is None:
            # A plan writes every register that there is, used or not.
            writes = unit.plan(TraceOptions(), self._session.sink.size).writes
            self._present = frozenset(write.name for write in writes) | unit.beside_plans
        if is_newer(register.remarks.since, unit.version):
            return False
        return register.access != "RW" or register.name in self._present

    def _watchpoints(self, part: PathPart) -> List[str]:
        # The numbers in the names of a DWT's registers.
        number = dwt.DWT_CTRL.get(part.registers.read(dwt.DWT_CTRL), "NUMCOMP")
        return ["", *(str(n) for n in range(number))]

    def registers(self, part: PathPart) -> List[Register]:
        """List a part's registers by offset, without product-specific ones."""
        found = (each for each in part.page if self.has(part, each) and not each.remarks.is_own)
        return sorted(found, key=lambda each: each.offset)

    def values(self, part: PathPart, registers: Iterable[Register]) -> Dict[str, int]:
        """Read the registers that can be read without side effects.

        :returns: Values by name.
        """
        quiet = [each for each in registers if each.access != "WO" and not each.remarks.reading]
        offsets = [each.offset + 4 * n for each in quiet for n in range(each.width // 32)]
        words = read_words(part, offsets)
        return {each.name: sum(words[each.offset + 4 * n] << 32 * n for n in range(each.width // 32)) for each in quiet}

    def read(self, part: PathPart, register: Register) -> int:
        """Read one register, whatever that does to the component.

        :raises CaptureError: It is not there, or can only be written.
        """
        self._check_there(part, register)
        if register.access == "WO":
            raise CaptureError("%s can only be written" % register.name)
        if part.role is PartRole.UNIT:
            return self._session.unit.look(register)
        return part.registers.read(register)

    def write(self, part: PathPart, register: Register, value: Optional[int], fields: Mapping[str, int]) -> WriteResult:
        """Write one register; its old value is restored at session end.

        :param value: The whole value; None where ``fields`` say what changes.
        :raises CaptureError: It is not there, cannot be written, or not now; or a value does not fit.
        """
        self._check_there(part, register)
        if register.access == "RO":
            raise CaptureError("%s can only be read" % register.name)
        if part.role is PartRole.PROCESSOR:
            raise CaptureError(
                "%s.%s is the debugger's own: watchpoints and halts need it; only reading is for us"
                % (part.name, register.name)
            )
        before = 0 if register.access == "WO" else self.read(part, register)
        wanted = checked(register, value) if value is not None else before
        wanted = changed(register, wanted, fields, self._session.unit.version)
        if part.role is PartRole.UNIT:
            self._session.unit.write_by_hand(register, wanted)
        else:
            self._write_beside(part, register, wanted)
        if register.access == "WO":
            return WriteResult(before, wanted, None, False)
        after = self.read(part, register)
        mask = sum(register.fields[name].mask for name in fields) if value is None else register.mask
        return WriteResult(
            before, wanted, after, part.role is PartRole.UNIT and self._keep(register, mask, wanted, after)
        )

    def _write_beside(self, part: PathPart, register: Register, value: int) -> None:
        if part.role is PartRole.SINK and register.name != "CTL" and self._session.sink.status().capturing:
            raise CaptureError(
                '%s.%s: the trace buffer is capturing (CTL.TraceCaptEn is 1); "etm stop" first'
                % (part.name, register.name)
            )
        if register.access == "WO":
            part.registers.command(register, value)
        else:
            part.registers.write(register, value)

    def _keep(self, register: Register, mask: int, value: int, after: int) -> bool:
        # A unit is on only for as long as the session says so.
        if register.name in _NOT_KEPT or register.name == "ETMCR" and not register.get(value, "Prog"):
            return False
        lost = mask & (register.moving | value ^ after)
        for (shift, word), (_, bits), (_, gone) in zip(*(words_of(register, each) for each in (value, mask, lost))):
            self._session.by_hand.keep(Kept(register, shift, word, bits, gone))
        return True

    def _check_there(self, part: PathPart, register: Register) -> None:
        if self.has(part, register):
            return
        unit = self._session.unit
        since = register.remarks.since
        if is_newer(since, unit.version) and since is not None:
            raise CaptureError("%s: not before v%d.%d, this unit is v%d.%d" % (register.name, *since, *unit.version))
        needs = ["%s is %d" % (name, unit.capabilities.field(name)) for name in register.remarks.needs.split()]
        raise CaptureError(
            "%s: not in this trace unit%s" % (register.name, " (%s)" % ", ".join(needs) if needs else "")
        )


def _parts(session: TraceSession) -> Iterable[PathPart]:
    path, unit = session.path, session.unit
    # An Armv8-M processor's DWT, which has an architecture number, has other registers.
    watch = dwt_v8.PAGE if path.dwt is not None and path.dwt.identity.archid else dwt.PAGE
    for component, page in ((path.scs, cortex_m.PAGE), (path.dwt, watch)):
        if component is not None:
            yield PathPart(component.name, component.name, PartRole.PROCESSOR, page, _borrowed(component))
    name = {"ptm": "PTM", "mtb": "MTB"}.get(unit.protocol, "ETM")
    yield PathPart(name, unit.title, PartRole.UNIT, unit.page, unit.registers)
    for number, link in enumerate(session.links):
        name = "FUNNEL" if len(session.links) == 1 else "FUNNEL%d" % number
        yield PathPart(name, "funnel", PartRole.LINK, funnel.PAGE, link.registers)
    sink = session.sink
    if path.sink is path.source:
        return
    yield PathPart(path.sink.name, path.sink.name, PartRole.SINK, sink.page, sink.registers)


def _borrowed(component: Component) -> Borrowed:
    return Borrowed(component.port, component.address)


def _tracing_enabled() -> Tuple[Step, ...]:
    register = cortex_m.DEMCR
    trace = register.encode(TRCENA=1)
    return (RegisterChange(register.name, register.offset, trace, trace, "trace is on in the processor"),)
