"""The execution of an ETMv3 stream: P-headers, exceptions, and cancellation.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv1.0 to ETMv3.5 (IHI 0014Q), 7.3 and 7.6.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import List, Optional

from gdb_etm.protocols.armv7.automaton import Successor, UnknownPoint
from gdb_etm.protocols.armv7.execution import Execution
from gdb_etm.protocols.armv7.fields import Branch, Information
from gdb_etm.protocols.elements import Event, Exception_, ExceptionReturn, Gap, GapReason
from gdb_etm.protocols.etmv3.automaton import Etmv3Automaton
from gdb_etm.protocols.etmv3.data import DataMatcher
from gdb_etm.protocols.etmv3.exceptions import exception_name
from gdb_etm.protocols.recorder import Leg, Recorder, Run


class Etmv3Execution(Execution):
    """The state of one stream's analysis.

    :param automaton: Program points and states of the program.
    :param recorder: Takes what ran, and the events.
    :param m_profile: Whether the core has the M-profile exception model.
    :param data: Takes what loads and stores; None when the unit traces no data.
    """

    def __init__(
        self, automaton: Etmv3Automaton, recorder: Recorder, m_profile: bool, data: Optional[DataMatcher]
    ) -> None:
        super().__init__(automaton, recorder)
        self._etmv3 = automaton
        self._m_profile = m_profile
        self._data = data

    def lose(self, position: int, reason: GapReason, detail: str) -> None:
        """Record a gap and forget everything, as when synchronisation is lost."""
        super().lose(position, reason, detail)
        if self._data is not None:
            self._data.lose()

    def header(self, header: int, position: int) -> None:
        """Follow a P-header's atoms; failure becomes a gap."""
        atoms = self._etmv3.atoms[header]
        successor = self._etmv3.successor(self.point, header)
        self._run(successor, position)
        if successor.atoms < len(atoms):
            self.stop(position)
            self._run(self._etmv3.find_successor(self.point, atoms[successor.atoms :]), position)
        if self._data is not None and self.point is self.automaton.lost and atoms.strip("W"):
            # What is loaded and stored from here on is of instructions that are not known (7.12).
            self._data.lose()

    def stop(self, position: int) -> None:
        """Record a gap here, unless one was recorded."""
        point = self.point
        if isinstance(point, UnknownPoint):
            super().stop(position)
            return
        self.gap(position, *self._etmv3.obstacle(point))
        self.set(self.automaton.lost)

    def run_one(self, position: int) -> None:
        """Run the instruction at the program point, as E does (7.10.5)."""
        successor = self._etmv3.find_successor(self.point, "E")
        self._run(successor, position)
        if not successor.atoms:
            self.stop(position)

    def _run(self, successor: Successor, position: int) -> None:
        entry = len(self.recorder.order)
        self.follow(successor, position)
        if self._data is not None:
            for step in successor.steps:
                if isinstance(step, Leg):
                    parts = self._etmv3.transfers.get(step)
                    if parts:
                        self._data.begin(entry, parts)
                    entry += 1

    def branch(self, branch: Branch, position: int) -> None:
        """Take a branch packet: an address, and perhaps an exception."""
        information = branch.information
        if information is None:
            self.arrive(branch.reference, position)
            return
        if information.cancel:
            self._cancel()
        if information.number:
            self._exception(information, position)
            point = self.automaton.point_of(branch.reference)
            self.set(point, self.addresses._replace(reference=branch.reference, address_given=True))
        else:
            self.arrive(branch.reference, position)
        self.set_context(position, information.non_secure, information.hyp)

    def _exception(self, information: Information, position: int) -> None:
        name, vector = exception_name(information.number, self._m_profile)
        point = self.point
        address = None if isinstance(point, UnknownPoint) else point.address
        event = Exception_(self.offset(position), information.number, name, vector, address)
        self.event(event)
        if self._data is not None:
            self._data.taken(event)

    def returned(self, position: int) -> None:
        """Take an exception exit packet."""
        event = ExceptionReturn(self.offset(position))
        self.event(event)
        if self._data is not None and self._m_profile:
            self._data.begin_event(event)

    def _cancel(self) -> None:
        # The instruction traced last did not complete. On M-profile it may have been a return whose unstacking did not
        # complete: then it is the return that is taken back (DDI 0337G, 14.5.2).
        recorder = self.recorder
        self.refused += 1
        while recorder.unfold():
            pass
        entries = len(recorder.order)
        index = len(recorder.events)
        while index and recorder.event_entries[index - 1] == entries:
            index -= 1
            if isinstance(recorder.events[index], Gap):
                return
            if isinstance(recorder.events[index], ExceptionReturn):
                if self._data is not None:
                    self._data.forget(recorder.events[index])
                del recorder.events[index], recorder.event_entries[index]
                if self._m_profile:
                    return
        self._take_back()

    def _take_back(self) -> None:
        # Takes back the last instruction, and stands at it.
        recorder, runs = self.recorder, self.automaton.runs
        entry = len(recorder.order) - 1
        while entry >= 0 and not runs.runs[recorder.order[entry]].instructions:
            entry -= 1
        if entry < 0 or any(isinstance(event, Gap) for event in self._events_after(entry)):
            return
        last = list(runs.runs[recorder.order[entry]].ranges())[-1][1]
        address = self.automaton.blocks.addresses(last.start, last.end, last.isa)[-1]
        recorder.order[entry] = self._shortened(recorder.order[entry], address)
        if self._data is not None:
            self._data.cancelled(entry)
        self.set(self.automaton.point(address, last.isa), self.addresses._replace(address_given=True))

    def _shortened(self, number: int, address: int) -> int:
        # The number of a run without its last instruction, which is at ``address``.
        runs = self.automaton.runs
        run = runs.runs[number]
        legs = list(run.legs)
        at = max(index for index, leg in enumerate(legs) if leg.instructions)
        *others, last = legs[at].ranges
        if last.instructions > 1:
            others.append(last._replace(end=address, instructions=last.instructions - 1, taken=True))
        legs[at] = Leg(tuple(others))
        return runs.add(Run(run.length, run.positions, legs, run.foreseen))

    def _events_after(self, entry: int) -> List[Event]:
        return self.recorder.events[bisect_right(self.recorder.event_entries, entry) :]
