"""A speculating trace unit: P0 elements in, packets and truth out.

It keeps what an analyzer knows (IHI 0064, chapter 5), so that it can leave out what can be inferred and tell again what
a Cancel made the analyzer forget.
"""

from __future__ import annotations

import random
from itertools import takewhile
from typing import List, Optional, Tuple

from gdb_etm.protocols.etmv4.encode import packets
from gdb_etm.protocols.etmv4.encode.writer import PacketWriter
from tests.protocols.etmv4 import rare_packets
from tests.protocols.etmv4.differential.case import Case, Setting
from tests.protocols.etmv4.differential.code import BARRIER, DIRECT, INDIRECT, WAIT, Instruction, Spot
from tests.protocols.etmv4.differential.known import EXCEPTION_RETURN, NO_EXECUTION, ON, Element, Fact, Known


class Unit:
    """The trace unit.

    :param case: How it is configured.
    :param dice: Chooses between encodings, and what an implementation may choose.
    """

    def __init__(self, case: Case, dice: random.Random) -> None:
        self.case = case
        self.out = bytearray()
        # P0 elements that are not cancelled, the committed ones first.
        self.elements: List[Element] = []
        # How many of them are committed.
        self.committed = 0
        # Numbers of elements that must not be committed yet, for they may be cancelled or change direction.
        self.limits: List[int] = []
        # Above 0 while only what must be is written: OpenCSD may miss the atom of a Mispredict when there is an
        # Address between them and anything else after it.
        self.bare = 0
        # What happened since the last P0 element and belongs to the next.
        self.events: List[Fact] = []
        self.times: List[Tuple[int, Optional[int]]] = []
        self.counts: List[Optional[int]] = []
        self._dice = dice
        self._writer = PacketWriter(self.out.extend)
        self._atoms = ""
        self._known = Known()
        self._depth = dice.randrange(1, 16)
        # The number of P0 elements at the first Address and Context after a Trace Info.
        self._told_at: Optional[int] = None
        self._quiet = False
        self._delayed = False
        self._time = dice.randrange(1 << 40)
        self._counted = False
        self._sent: Optional[Setting] = None

    # Speculation.

    @property
    def uncommitted(self) -> int:
        """How many P0 elements are uncommitted."""
        return len(self.elements) - self.committed

    @property
    def returned(self) -> bool:
        """Whether an exception return is the last fact that was committed."""
        return self.committed > 0 and self.elements[self.committed - 1].facts[-1:] == [EXCEPTION_RETURN]

    def committable(self) -> int:
        """How many P0 elements can be committed now."""
        return min(self.limits + [len(self.elements)]) - self.committed

    def room(self) -> int:
        """How many P0 elements can follow before a forbidden commit."""
        return self.case.max_speculation - (len(self.elements) - min(self.limits + [len(self.elements)]))

    def _add(self, element: Element) -> None:
        element.facts[:0] = self.events
        self.events = []
        self.elements.append(element)
        # What does not fit in the maximum depth is committed without a packet (6.4.13).
        if self.uncommitted > self.case.max_speculation:
            self.committed += 1
            assert self.committable() >= 0

    def commit(self, elements: int) -> None:
        """Commit the oldest elements with a Commit packet."""
        if elements:
            self._put(packets.commit(elements))
            self.committed += elements

    def cancel(self, elements: int, mispredict: bool) -> None:
        """Cancel the youngest elements, perhaps with a mispredict in one packet."""
        if elements:
            oldest = self.elements[-elements]
            self.events = list(takewhile(lambda fact: fact == ON, oldest.facts))
            del self.elements[-elements:]
            self._known = oldest.before
            self._delayed = False
        self._put_cancel(elements, mispredict)
        if mispredict:
            self._flip()
        if self._told_at is None or self._told_at >= len(self.elements):
            # What was told after a Trace Info is gone (5.2.1), by the Mispredict too (5.2.20).
            self._known = Known()
            self._quiet = True

    def _put_cancel(self, elements: int, mispredict: bool) -> None:
        # One of the packets that say so; those with atoms take the last ones that are not written yet.
        ends = [atoms for atoms in ("", "E", "EE", "N") if self._atoms.endswith(atoms)] if mispredict else []
        forms: List[Tuple[str, bytes]] = []
        if elements:
            forms.append(("", packets.cancel_1(elements, mispredict)))
        else:
            forms += [(atoms, packets.mispredict(atoms)) for atoms in ends]
        if elements == 1:
            forms += [(atoms, packets.cancel_2(atoms)) for atoms in ends]
        if 2 <= elements <= 5:
            forms += [(atoms, packets.cancel_3(elements, atoms == "E")) for atoms in ends if atoms in ("", "E")]
        atoms, packet = self._dice.choice(forms)
        self._atoms = self._atoms[: len(self._atoms) - len(atoms)]
        self._put(packet)

    def _flip(self) -> None:
        element = self.elements[-1]
        assert element.insn is not None
        element.taken = not element.taken
        setting = self._known.setting
        self._known = self._after(element)._replace(setting=setting)

    # P0 elements.

    def atom(self, insn: Instruction, taken: bool, facts: List[Fact]) -> None:
        """Trace a branch; its block ran up to and including it."""
        element = Element(facts, self._known, insn, taken)
        self._atoms += "E" if taken else "N"
        self._add(element)
        self._known = self._after(element)
        if self._delayed:
            # After a Trace Info the place is told only now (5.2.1).
            self._known = self._known._replace(place=None, setting=None, branched=False)
            self._delayed = False
        if self._dice.random() < 0.2:
            self._flush()

    def _after(self, element: Element) -> Known:
        # What is known after an atom with its direction.
        insn = element.insn
        assert insn is not None
        following = (insn.address + insn.size, insn.isa)
        before = element.before
        stack = before.stack
        if insn.link and element.first_taken and not self._quiet and not self.case.broadcast:
            stack = (stack + (following,))[-self._depth :]
        if not element.taken:
            return Known(following, before.setting, stack)
        if insn.kind in (BARRIER, WAIT):
            target: Optional[Spot] = following
        else:
            target = insn.target if insn.kind == DIRECT else None
        if self.case.broadcast and insn.kind in (DIRECT, BARRIER):
            return Known(None, before.setting, ())
        return Known(target, before.setting, stack, insn.kind == INDIRECT)

    def exception(self, number: int, spot: Spot, setting: Setting, facts: List[Fact], return_address: int) -> None:
        """Trace an exception.

        :param spot: Where execution was before it; what ran from there is in `facts`.
        """
        joint = False
        delayed = self._delayed
        if return_address == NO_EXECUTION or self._known.place is None and spot[0] == return_address:
            joint = self._joint(spot)
        if return_address == NO_EXECUTION:
            if not joint:
                self._put(self._writer.address_packet(NO_EXECUTION, True, self._form()))
        elif not joint:
            self.arrive(spot, setting)
        context = b""
        if joint and return_address != NO_EXECUTION and self._known.setting != setting:
            context = self._payload(setting)
        # A return address is of the instruction set that it returns to.
        is1 = spot[1].name == "T32"
        if context:
            place = self._writer.address_with_context_packet(return_address, is1, context, self._form())
        else:
            place = self._writer.address_packet(return_address, is1, self._form())
        elements = 2 if joint else 1
        self._put(rare_packets.exception(number, elements, place, short=self._dice.random() < 0.5))
        if context:
            self._quiet = False
            self._told_at = len(self.elements) if self._told_at is None else self._told_at
        told = setting if context else self._known.setting
        before = self._known._replace(setting=told)
        if joint:
            # The Address is an element of its own, before the exception: it stays when that is cancelled (6.4.5).
            before = Known((return_address, spot[1]), told, self._known.whole_stack())
        self._add(Element(facts + [("exception", number, return_address)], before, None, True))
        self._known = Known(None, None if delayed else told, self._known.stack)
        self._delayed = False

    def _joint(self, spot: Spot) -> bool:
        # Whether the Exception packet may tell the target of the branch before it too (E1:E0 = 0b10).
        known, stack_used = self._known, self.case.return_stack
        if stack_used and (self.case.portable or known.branched and known.stack[-1:] == (spot,)):
            # OpenCSD up to 1.8 then takes a target off its return stack as well, and dies if that is empty.
            return False
        if self.limits and self.case.portable:
            # OpenCSD takes the Address for the exception's, and cancels it too.
            return False
        return self._dice.random() < 0.7

    def exception_return(self, p0: bool) -> None:
        """Trace an exception return."""
        self._put(packets.EXCEPTION_RETURN)
        if p0:
            self._add(Element([EXCEPTION_RETURN], self._known, None, True))
        else:
            self.elements[-1].facts.append(EXCEPTION_RETURN)
        # The branch before it did not go where the return stack says (5.3).
        self._known = Known(None, self._known.setting, self._known.whole_stack())

    # Where execution is.

    def arrive(self, spot: Spot, setting: Setting) -> None:
        """Make sure that an analyzer knows the next address and context."""
        if self._delayed:
            if self._known.place == spot and self._known.setting == setting:
                return
            self._delayed = False
            self._known = self._known._replace(setting=None)
        known = self._known
        if known.branched and known.place is None and known.setting == setting and not self._quiet:
            if self.case.return_stack and known.stack and known.stack[-1] == spot:
                self._known = Known(spot, setting, known.stack[:-1], True, spot)
                return
        if known.place != spot or known.setting != setting or not self.bare and self._dice.random() < 0.02:
            self.tell(spot, setting)

    def tell(self, spot: Spot, setting: Setting) -> None:
        """Write where execution goes on: an Address, a Context, or both."""
        known = self._known
        changed = known.setting != setting
        # OpenCSD takes the instruction set of a Context's place from the last Address, even if a branch has changed it.
        address = known.place != spot or self._quiet or self.case.portable or self._dice.random() < 0.5
        is1 = spot[1].name == "T32"
        order = self._dice.randrange(3) if changed else 3
        if changed and not address:
            self._put(rare_packets.context(self._payload(setting)))
        elif order == 0:
            payload = self._payload(setting)
            self._put(self._writer.address_with_context_packet(spot[0], is1, payload, self._form()))
        else:
            if order == 1:
                self._put(rare_packets.context(self._payload(setting)))
            self._put(self._writer.address_packet(spot[0], is1, self._form()))
            if order == 2:
                self._put(rare_packets.context(self._payload(setting)))
            if order == 3 and self._sent == setting and not self.bare and self._dice.random() < 0.05:
                self._put(rare_packets.SAME_CONTEXT)
        self._known = Known(spot, setting, known.whole_stack(), known.branched)
        self._quiet = False
        self._told_at = len(self.elements) if self._told_at is None else self._told_at

    def _form(self) -> int:
        # OpenCSD clears bits 63:32 of what it keeps in AArch32 state, and this state need not be the last one that a
        # packet told: where there are both states only the 64-bit forms are safe.
        if self.case.portable and self.case.profile == "mixed":
            return 9
        return self._dice.choice((0, 0, 0, 1, 2, 3))

    def _payload(self, setting: Setting) -> bytes:
        case, sent = self.case, self._sent
        # What is left out keeps the value that was last written, even if a Cancel made that void (table 6-4); OpenCSD
        # takes the value of the last Context that was not cancelled.
        vmid = context_id = b""
        every = sent is None or case.portable and case.max_speculation > 0 or self._dice.random() < 0.3
        if case.vmid_bytes and (every or sent is not None and sent.vmid != setting.vmid):
            vmid = setting.vmid.to_bytes(case.vmid_bytes, "little")
        if case.context_id and (every or sent is not None and sent.context_id != setting.context_id):
            context_id = setting.context_id.to_bytes(4, "little")
        self._sent = setting
        return rare_packets.context_payload(setting.level, setting.non_secure, setting.wide, vmid, context_id)

    # Discontinuities.

    def trace_on(self) -> None:
        """Trace again after a gap."""
        self._put(packets.TRACE_ON)
        self.events.append(ON)
        # After a Trace Info the context has to be told before anything runs (5.2.1).
        self._known = Known(None, None if self._quiet else self._known.setting)
        self._delayed = False

    def synchronise(self, delayed: bool = False) -> None:
        """Write a synchronisation point.

        :param delayed: Whether the place is told only after the next P0 element.
        """
        self._flush()
        info = packets.trace_info(self.case.threshold, speculation=self.uncommitted or None)
        self._writer.synchronise(None, info)
        delayed = delayed and self._known.place is not None and self._known.setting is not None
        # The Address and the Context after the next P0 element would be in the way of a Mispredict (see `bare`).
        delayed = delayed and not (self.case.portable and self.case.max_speculation)
        place = self._known.place if delayed else None
        setting = self._known.setting if delayed else None
        self._known = Known(place, setting, ())
        self._delayed = delayed
        self._quiet = True
        self._sent = None
        self._told_at = None

    def lose(self, overflow: bool) -> None:
        """Lose the uncommitted elements by overflow or discard; begin again."""
        self._flush()
        self._put(packets.OVERFLOW if overflow else rare_packets.DISCARD)
        del self.elements[self.committed :]
        self.events = []
        self._known = Known()
        self._delayed = False
        self.synchronise()
        self.trace_on()

    # Time.

    def timestamp(self) -> None:
        """Write a timestamp."""
        self._time += self._dice.choice((1, 100, 1 << 20, 1 << 33))
        cycles = self._dice.choice((0, 5, 300, 70000)) if self.case.threshold is not None else None
        self._flush()
        self._writer.timestamp(self._time, cycles)
        self.times.append((self._time, cycles))

    def account(self, commits: int) -> None:
        """Write a cycle count; in mode 0 it commits.

        In commit mode 1 it comes after a Commit.
        """
        threshold = self.case.threshold
        assert threshold is not None
        if self.case.commit_mode or self.case.portable:
            # OpenCSD 1.3.3 does not commit what a cycle count says.
            self.commit(commits)
            commits = 0
        cycles: Optional[int] = self._dice.choice((0, 1, 3, 4, 12, 15, 16, 200, 5000, 0xFFFFF - threshold))
        if not self._counted and self._dice.random() < 0.8:
            cycles = None
        self._counted = True
        self._flush()
        self._put(self._dice.choice(self._count_forms(cycles, commits)))
        self.committed += commits
        self.counts.append(None if cycles is None else threshold + cycles)

    def _count_forms(self, cycles: Optional[int], commits: int) -> List[bytes]:
        depth, mode = self.case.max_speculation, self.case.commit_mode
        forms = [packets.cycle_count_1(cycles, None if mode else commits)]
        if cycles is not None and cycles < 16 and (depth - 15 <= commits <= depth or 1 <= commits <= 16):
            forms.append(packets.cycle_count_2(cycles, commits, depth))
        if cycles is not None and cycles < 4 and (mode or 1 <= commits <= 4):
            forms.append(packets.cycle_count_3(cycles, None if mode else commits))
        return forms

    def finish(self) -> None:
        """Write what waits."""
        self._flush()
        self._writer.deliver()

    def truth(self) -> List[Fact]:
        """Give what is committed."""
        return [fact for element in self.elements[: self.committed] for fact in element.facts]

    def _put(self, packet: bytes) -> None:
        self._flush()
        self._writer.put(packet)

    def _flush(self) -> None:
        for atom in self._atoms:
            self._writer.atom(atom == "E")
        self._atoms = ""
        self._writer.flush_atoms()
