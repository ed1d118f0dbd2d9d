"""Points-to analysis of a program: the objects that a store cannot reach.

An object whose address never leaves the functions that make it is reached by their instructions alone.  Its address
leaves a function through memory, calls and returns, and is in memory where the program has it as data.
"""

from __future__ import annotations

from struct import unpack_from
from typing import Callable, Dict, Final, FrozenSet, List, NamedTuple, Optional, Sequence, Set, Tuple

from gdb_etm.program.image import Program
from gdb_etm.program.isa import Isa
from gdb_etm.program.objects import NO_OBJECT, Objects
from gdb_etm.program.ram import Piece
from gdb_etm.recovery.functions.branches import FunctionCode
from gdb_etm.recovery.functions.losses import Losses
from gdb_etm.recovery.lift.template import Template, Templates
from gdb_etm.recovery.pointers.arithmetic import Results
from gdb_etm.recovery.pointers.flow import PointerFlow
from gdb_etm.recovery.pointers.provenance import Lattice, constant
from gdb_etm.recovery.pointers.summaries import ARGUMENTS, LEAKS_ALL, Given, Site, Summary
from gdb_etm.recovery.rules import FrameInformation

# Bytes of code that are analysed; it takes about a second for each 50,000.
_MOST: Final = 1 << 17
# Functions that call one another are followed so deep.
_DEEP: Final = 60
_WORD: Final = 4
# Where a vector table may begin (VTOR), and how many words it has at least.
_ALIGNED: Final = 128
_SYSTEM: Final = 16
_ANYWHERE = Site(frozenset(), True, frozenset(ARGUMENTS), True)
# The programs that were analysed last, as many as one session has in use.
_KEPT: Final = 2
_KNOWN: List[Tuple[Tuple[object, ...], "PointsTo"]] = []


class Reach(NamedTuple):
    """What a function may store to through an argument."""

    objects: FrozenSet[int]
    # Of functions, by their first address.
    frames: FrozenSet[int]


class PointsTo:
    """The objects that stores may reach.

    :param program: The program; for M-profile.
    :param objects: Its objects.
    :param information: Its call frame information.
    :param ram: Pieces of memory that change.
    :param tick: Called for each function; what it raises ends the analysis.
    :param aspen: FPCCR.ASPEN of the core.
    """

    def __init__(
        self,
        program: Program,
        objects: Objects,
        information: FrameInformation,
        ram: Sequence[Piece],
        tick: Callable[[], None] = lambda: None,
        aspen: bool = True,
    ) -> None:
        self.objects = objects
        self._ram = ram
        self._program = program
        self._tick = tick
        self.templates = Templates(program, True, objects, aspen)
        self._code = FunctionCode(information, program)
        self._losses = Losses(information, self._code, lambda address, _: self._template(address))
        self._lattice = Lattice(objects)
        self._results = Results(self._lattice)
        self._starts = [start for start, _ in objects.functions]
        self._summaries: Dict[int, Summary] = {}
        # Functions that are being followed, by their first address.
        self._open: Set[int] = set()
        # Addresses of functions that may be called through pointers, or that call themselves.
        self._called_otherwise: Set[int] = set()
        # Store instructions that were followed, by function and address.
        self._sites: Dict[int, Dict[int, Site]] = {}
        # Objects whose address may be anywhere.
        self.escaped: Set[int] = set()
        # What functions get and store through, by their address and the argument's number; and by the caller.
        self._given: Dict[Tuple[int, int], Dict[int, Given]] = {}
        # By function, what accesses its frame alone, if no address of the frame is stored but in it.
        self._own_accesses: Dict[int, Set[int]] = {}
        # Functions that use the bounds of sections, by their first address.
        self._initialisers: Set[int] = set()
        # Words that are instructions, or that instructions load as constants.
        self._covered: Set[int] = set()
        for start in self._starts:
            self._summary(start)
        self._scan_data()
        # Store instructions that were followed, by address.
        self.stores = {at: site for sites in self._sites.values() for at, site in sites.items()}
        self._frames = {at: start for start, accesses in self._own_accesses.items() for at in accesses}
        self._reach: Dict[Tuple[int, int], Reach] = {}

    def _template(self, address: int) -> Optional[Template]:
        return self.templates.at(address, Isa.T32)

    def _read(self, address: int, size: int) -> Optional[int]:
        if any([low < address + size and address < high for low, high in self._ram]):
            return None
        found = self._program.read(address, size)
        return int.from_bytes(found, "little") if len(found) == size else None

    def _function(self, address: int) -> Optional[Tuple[int, int]]:
        return self.objects.function(address)

    def _summary(self, address: Optional[int]) -> Summary:
        bounds = None if address is None else self._function(address)
        if bounds is None or bounds[0] != address or len(self._open) > _DEEP:
            return LEAKS_ALL
        if address in self._open:
            self._called_otherwise.add(address)
            return LEAKS_ALL
        found = self._summaries.get(address)
        if found is None:
            self._open.add(address)
            found = self._summaries[address] = self._follow(bounds)
            self._open.remove(address)
        return found

    def _follow(self, bounds: Tuple[int, int]) -> Summary:
        self._tick()
        flow = PointerFlow(bounds, self._results, self._template, self._code, self._read, self._summary, self._losses)
        summary = flow.run()
        self._called_otherwise |= {one & ~1 for one in flow.constants if one & 1}
        self._sites[bounds[0]] = flow.sites
        self.escaped.update([one for one in flow.escaped if one >= 0])
        for argument, given in flow.given.items():
            self._given.setdefault(argument, {})[bounds[0]] = given
        self._own_accesses[bounds[0]] = flow.own_accesses() if flow.keeps_frame else set()
        self._covered |= flow.covered
        markers = self.objects.markers
        if markers & flow.bases and any([self.objects.at(one) == NO_OBJECT for one in markers & flow.constants]):
            self._initialisers.add(bounds[0])
        return summary

    def _scan_data(self) -> None:
        # Each word that is neither an instruction nor loaded by one as a constant may be an address.
        # What a handler leaves in r0 when it returns is gone: the exception's return loads it.
        values: Set[int] = set()
        for start, data in self._program.pieces:
            first = -start % _WORD
            words = unpack_from("<%dI" % (max(len(data) - first, 0) // _WORD), data, first) if data[first:] else ()
            places = range(start + first, start + len(data), _WORD)
            vectors = self._vectors(start + first, words)
            values.update([value for at, value in zip(places, words) if at not in self._covered and at not in vectors])
        for value in values:
            self.escaped |= self._lattice.objects_of(constant(value))
            self._called_otherwise.add(value & ~1)
        for address in self._called_otherwise.intersection(self._summaries):
            self.escaped.update([one for one in self._summaries[address].returned if one >= 0])

    def _vectors(self, start: int, words: Sequence[int]) -> Set[int]:
        # Where words are the handlers of a vector table.
        found: Set[int] = set()
        for first in range(-start % _ALIGNED // _WORD, len(words) - _SYSTEM + 1, _ALIGNED // _WORD):
            in_ram = any([low < words[first] <= high for low, high in self._ram])
            if in_ram and all([self._is_entry(one) for one in words[first + 1 : first + 4]]):
                last = first + 1
                while last < len(words) and (not words[last] or self._is_entry(words[last])):
                    found.add(start + last * _WORD)
                    last += 1
        return found

    def _is_entry(self, word: int) -> bool:
        bounds = self._function(word - 1)
        return bounds is not None and bounds[0] == word - 1

    def is_initialiser(self, address: int) -> bool:
        """Check whether code copies or clears sections, or is not known."""
        bounds = self._function(address)
        return bounds is None or bounds[0] in self._initialisers

    def frame_of(self, address: int) -> Optional[int]:
        """Give the beginning of a function whose frame an instruction accesses.

        None if it may access anything else, or if others may have an address of the frame that is not an argument.
        """
        return self._frames.get(address)

    def may_reach(self, address: int, wanted: int) -> bool:
        """Check whether a store may reach an object, or NO_OBJECT.

        :param address: Of the store instruction.
        """
        site = self.site(address)
        if wanted in site.objects:
            return True
        if wanted == NO_OBJECT or wanted in self.escaped:
            return site.other
        return any([wanted in self._reached(address, number).objects for number in site.arguments])

    def may_reach_frame(self, address: int, function: int) -> bool:
        """Check whether a store may reach a frame as an argument.

        :param address: Of the store instruction.
        :param function: Where the function of the frame begins.
        """
        site, own = self.site(address), self._function(address)
        if own is None or site.frame and own[0] == function:
            return True
        return any([function in self._reached(address, number).frames for number in site.arguments])

    def _reached(self, address: int, number: int) -> Reach:
        # What the function at an address may have as an argument, from all of its callers.
        bounds = self._function(address)
        if bounds is None:
            return Reach(frozenset(self.escaped), frozenset())
        found = self._reach.get((bounds[0], number))
        if found is None:
            found = self._reach[bounds[0], number] = self._find_reach((bounds[0], number))
        return found

    def _find_reach(self, argument: Tuple[int, int]) -> Reach:
        objects: Set[int] = set()
        frames: Set[int] = set()
        seen = {argument}
        todo = [argument]
        while todo:
            function, number = todo.pop()
            nexts: List[Tuple[int, int]] = []
            for caller, given in self._given.get((function, number), {}).items():
                objects |= given.objects
                frames.update([caller] * given.frame)
                nexts += [(caller, one) for one in given.arguments]
            todo += [one for one in nexts if one not in seen]
            seen.update(nexts)
        return Reach(frozenset(objects), frozenset(frames))

    def site(self, address: int) -> Site:
        """Give the addresses that the store at an address may have."""
        return self.stores.get(address, _ANYWHERE)


def points_to(
    program: Program,
    objects: Objects,
    information: FrameInformation,
    ram: Sequence[Piece],
    known: bool = False,
    tick: Callable[[], None] = lambda: None,
    aspen: bool = True,
) -> Optional[PointsTo]:
    """Analyse a program, or remember what was found; see :class:`PointsTo`.

    None for a program with more code than is looked at.

    :param known: Whether it is given only if it was analysed before: large programs take seconds.
    """
    key = program.identity(), tuple(objects.functions), tuple(ram), aspen
    for analysed, found in _KNOWN:
        if analysed == key:
            return found
    if known or sum([end - start for start, end in objects.functions]) > _MOST:
        return None
    made = PointsTo(program, objects, information, ram, tick, aspen)
    _KNOWN.append((key, made))
    del _KNOWN[:-_KEPT]
    return made
