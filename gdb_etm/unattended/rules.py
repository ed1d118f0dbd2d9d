"""Checks of what must not happen, and of order."""

from __future__ import annotations

from typing import Dict, List, Sequence, Set, Tuple

from gdb_etm.errors import CommandError
from gdb_etm.profiles.tables import TableReader
from gdb_etm.session.analysed import INSTRUCTIONS
from gdb_etm.unattended.figures import Figure, Judgement, Observed, Sample, where_text


class HandlerCheck:
    """A check that a function is not called from handlers.

    :param reader: Its table.
    """

    def __init__(self, reader: TableReader) -> None:
        self._name = reader.text("not-in-handlers")
        self._handlers = set(reader.texts("handlers", ()))
        self._found: List[Tuple[str, Sample]] = []
        # What of it is not known: nothing.
        self.doubts: Sequence[str] = ()

    @property
    def title(self) -> str:
        """What is checked, in words."""
        return "no call of %s from %s" % (self._name, ", ".join(sorted(self._handlers)) or "a handler")

    def take(self, observed: Observed) -> bool:
        """Look at a run; tell whether it was called."""
        observed.history.measures.require(self._name)
        before = len(self._found)
        for one in observed.history.measures.calls(INSTRUCTIONS):
            if one.name == self._name and one.exception and one.exception in (self._handlers or {one.exception}):
                self._found.append((one.exception, observed.sample(1, one.first)))
        return len(self._found) > before

    @property
    def figures(self) -> Tuple[Figure, ...]:
        """The calls, each of which is one too many."""
        return (Figure("calls of %s from handlers" % self._name, "calls", tuple(one for _, one in self._found)),)

    def judge(self) -> Judgement:
        """Judge what was seen."""
        if self._found:
            exception, sample = self._found[0]
            return Judgement(False, True, "from %s in %s" % (exception, where_text(sample)))
        return Judgement(True, False, "none was seen")


class OrderCheck:
    """A check that functions are called in an order.

    The first call of each comes after the first of the one before it; or, where that is wished, all calls of them go
    round in the order.

    :param reader: Its table.
    """

    def __init__(self, reader: TableReader) -> None:
        self._names = reader.texts("order")
        self._repeats = reader.flag("repeat", False)
        if len(set(self._names)) < max(2, len(self._names)):
            raise reader.refuse("order must be a list of two different functions or more")
        self._wrong: List[Tuple[str, Sample]] = []
        self._firsts: List[Tuple[str, Sample]] = []
        # What of it is not known: nothing.
        self.doubts: Sequence[str] = ()

    @property
    def title(self) -> str:
        """What is checked, in words."""
        return "order of calls: %s%s" % (", ".join(self._names), ", again and again" if self._repeats else "")

    def take(self, observed: Observed) -> bool:
        """Look at a run; tell whether the order was another."""
        for name in self._names:
            observed.history.measures.require(name)
        calls = [one for one in observed.history.measures.calls(INSTRUCTIONS) if one.begun and one.name in self._names]
        before = len(self._wrong)
        follow = self._rounds if self._repeats else self._first_calls
        for text, number in follow([(one.name, one.first) for one in calls]):
            self._wrong.append((text, observed.sample(1, number)))
        firsts: Dict[str, int] = {}
        for one in calls:
            firsts.setdefault(one.name, one.first)
        self._firsts += [(name, observed.sample(number, number)) for name, number in firsts.items()]
        return len(self._wrong) > before

    def _first_calls(self, calls: Sequence[Tuple[str, int]]) -> List[Tuple[str, int]]:
        found: List[Tuple[str, int]] = []
        seen: Set[str] = set()
        for name, number in calls:
            before = self._names[: self._names.index(name)]
            lacking = [one for one in before if one not in seen]
            if lacking and name not in seen:
                found.append(("%s before %s" % (name, lacking[0]), number))
            seen.add(name)
        lacking = [one for one in self._names if one not in seen]
        return found or [("%s was not called" % one, 0) for one in lacking[:1]]

    def _rounds(self, calls: Sequence[Tuple[str, int]]) -> List[Tuple[str, int]]:
        at = 0
        for name, number in calls:
            wanted = self._names[at % len(self._names)]
            if name != wanted:
                return [("%s where %s was due" % (name, wanted), number)]
            at += 1
        return [] if at else [("none of them was called", 0)]

    @property
    def figures(self) -> Tuple[Figure, ...]:
        """The numbers of the first calls."""
        return tuple(
            [
                Figure(
                    "first call of " + name, "instruction", tuple(one for called, one in self._firsts if called == name)
                )
                for name in self._names
            ]
        )

    def judge(self) -> Judgement:
        """Judge what was seen."""
        if self._wrong:
            text, sample = self._wrong[0]
            return Judgement(False, False, "%s in %s" % (text, where_text(sample)))
        return Judgement(True, False, "as said")


class FaultCheck:
    """A check that the program takes no fault.

    :param reader: Its table.
    """

    def __init__(self, reader: TableReader) -> None:
        if reader.flag("fault"):
            raise reader.refuse("fault must be false: that there is none is what can be checked")
        self._found: List[Tuple[str, Sample]] = []
        self._verdict = ""
        # What of it is not known: nothing.
        self.doubts: Sequence[str] = ()

    @property
    def title(self) -> str:
        """What is checked, in words."""
        return "no fault"

    def take(self, observed: Observed) -> bool:
        """Look at a run; tell whether there was one."""
        faults = observed.history.measures.faults()
        self._found += [(one.name, observed.sample(1, one.after)) for one in faults]
        if faults and not self._verdict:
            self._verdict = _verdict(observed)
        return bool(faults)

    @property
    def figures(self) -> Tuple[Figure, ...]:
        """The faults."""
        return (Figure("faults", "faults", tuple(one for _, one in self._found)),)

    def judge(self) -> Judgement:
        """Judge what was seen."""
        if self._found:
            name, sample = self._found[0]
            why = "; " + self._verdict if self._verdict else ""
            return Judgement(False, True, "%s in %s%s" % (name, where_text(sample), why))
        return Judgement(True, False, "none was taken")


def _verdict(observed: Observed) -> str:
    # What "etm fault" says in the line with the arrow.
    try:
        found = observed.history.fault().verdict
    except CommandError:
        return ""
    return "%s, %s" % (found.line or found.place, found.text) if found is not None else ""
