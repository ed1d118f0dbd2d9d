"""Parser of events and actions: ``exec main and not counter 0``."""

from __future__ import annotations

from typing import Callable, Dict, List, Mapping, Optional, Sequence

from gdb_etm.errors import CommandError
from gdb_etm.session.filters import commas, range_of
from gdb_etm.session.numbers import count
from gdb_etm.session.places import Locations, required
from gdb_etm.session.request import Range
from gdb_etm.traceunit.actions import (
    Action,
    Count,
    FirstState,
    Mark,
    NextState,
    Output,
    Reload,
    StartTracing,
    StopTracing,
    Timestamp,
    Trace,
    Trigger,
)
from gdb_etm.traceunit.addresses import AddressRange
from gdb_etm.traceunit.events import (
    ALWAYS,
    NEVER,
    Accessed,
    AccessType,
    AtZero,
    Committed,
    DataValue,
    Event,
    Executed,
    ExecutedIn,
    InContext,
    InMachine,
    Input,
    InState,
    Watched,
    alternatives,
    any_of,
)

# Words that begin an event, and what comes after them.
EVENTS: Dict[str, str] = {
    "exec": "LOCATION",
    "in": "LOCATION",
    "load": "DATA",
    "store": "DATA",
    "access": "DATA",
    "dwt": "N",
    "counter": "N",
    "state": "N",
    "input": "N",
    "context": "ID",
    "vmid": "ID",
    "always": "",
    "never": "",
    "once": "EVENT",
    "each": "EVENT",
}
# Words for actions, and what comes after them.
ACTIONS: Dict[str, str] = {
    "trigger": "",
    "start": "",
    "stop": "",
    "trace": "",
    "mark": "[N]",
    "output": "N",
    "timestamp": "",
    "count": "N",
    "reload": "N",
    "next-state": "[FROM[-TO]]",
    "first-state": "",
}
CODE = ("exec", "in")
DATA = ("load", "store", "access")
_JOINS = ("and", "or")
_SIZES = (1, 2, 4, 8)


def event_of(text: str, places: Optional[Locations], inputs: Mapping[str, int]) -> Event:
    """Read an event.

    :param inputs: Names of external inputs.
    :raises CommandError: It is none, or there is no such place.
    """
    parser = _Parser(_tokens(text), places, inputs)
    found = parser.any()
    if parser.rest:
        raise CommandError('"%s" is left over after the event; "and" and "or" join events' % parser.rest[0])
    return found


def action_of(text: str) -> Action:
    """Read an action.

    :raises CommandError: It is none.
    """
    words = text.split()
    name, rest = (words[0], words[1:]) if words else ("", [])
    if name not in ACTIONS:
        raise CommandError('"%s" is no action; they are: %s' % (name, ", ".join(ACTIONS)))
    wanted = ACTIONS[name]
    if len(rest) > bool(wanted) or wanted and not rest and not wanted.startswith("["):
        raise CommandError("%s takes %s" % (name, wanted or "nothing more"))
    plain: Dict[str, Action] = {
        "trigger": Trigger(),
        "start": StartTracing(),
        "stop": StopTracing(),
        "trace": Trace(),
        "timestamp": Timestamp(),
        "first-state": FirstState(),
    }
    numbered: Dict[str, Callable[[int], Action]] = {"mark": Mark, "output": Output, "count": Count, "reload": Reload}
    if name == "next-state":
        return _step(rest[0] if rest else "0")
    if name in numbered:
        return numbered[name](count(rest[0])) if rest else Mark()
    return plain[name]


def _step(text: str) -> NextState:
    source, dash, target = text.partition("-")
    return NextState(count(source), count(target) if dash else count(source) + 1)


def _tokens(text: str) -> List[str]:
    # Brackets that group events stand before the first word of one or after its last; those of a C++ function's
    # arguments are closed in the word itself.
    result: List[str] = []
    for word in text.split():
        while word.startswith("("):
            result.append("(")
            word = word[1:]
        closing = 0
        while word.endswith(")") and word.count(")") > word.count("("):
            word, closing = word[:-1], closing + 1
        result += [word] if word else []
        result += [")"] * closing
    return result


class _Parser:
    # Goes through the words once; "not" binds before "and", "and" before "or".

    def __init__(self, words: List[str], places: Optional[Locations], inputs: Mapping[str, int]) -> None:
        self.rest = words
        self._places = places
        self._inputs = inputs

    def any(self) -> Event:
        found = self._all()
        while self._skip("or"):
            found = found | self._all()
        return found

    def _all(self) -> Event:
        found = self._one()
        while self._skip("and"):
            found = found & self._one()
        return found

    def _one(self) -> Event:
        if self._skip("not"):
            return ~self._one()
        if self._skip("("):
            found = self.any()
            if not self._skip(")"):
                raise CommandError('a ")" is missing after "%s"' % (found,))
            return found
        return self._plain(self._next("an event (%s)" % ", ".join(EVENTS)))

    def _plain(self, word: str) -> Event:
        if word not in EVENTS:
            raise CommandError('"%s" is no event; they are: %s' % (word, ", ".join(EVENTS)))
        if word in ("always", "never"):
            return ALWAYS if word == "always" else NEVER
        if word in ("once", "each"):
            return Committed(alternatives(self._one()), word == "each")
        text = self._next("%s after %s" % (EVENTS[word], word))
        if word in CODE:
            return self._executed(word, text)
        if word in DATA:
            return self._accessed(AccessType(word), text)
        if word == "input":
            return Input(self._inputs[text] if text in self._inputs else self._input(text))
        kinds: Dict[str, Callable[[int], Event]] = {
            "dwt": Watched,
            "counter": AtZero,
            "state": InState,
            "context": InContext,
            "vmid": InMachine,
        }
        return kinds[word](count(text))

    def _input(self, text: str) -> int:
        if not text[:1].isdigit():
            names = "; known by name: " + ", ".join(self._inputs) if self._inputs else ""
            raise CommandError('no external input "%s": give its number%s' % (text, names))
        return count(text)

    def _executed(self, word: str, text: str) -> Event:
        found: List[Event] = []
        for part in commas(text):
            numbers = range_of(part)
            if word == "exec":
                if numbers is not None:
                    raise CommandError('exec is one instruction; "in %s" is a range' % part)
                found += [Executed(address) for address in required(self._places).entries(part)]
                continue
            for first, last in [numbers] if numbers is not None else required(self._places).code(part):
                found.append(Executed(first) if first == last else ExecutedIn(AddressRange(first, last)))
        return any_of(found)

    def _accessed(self, access: AccessType, text: str) -> Event:
        numbers = range_of(text)
        ranges: Sequence[Range] = [numbers] if numbers is not None else self._data(text)
        if not self.rest or self.rest[0] not in ("==", "!="):
            return any_of([Accessed(AddressRange(*pair), access) for pair in ranges])
        differs = self._next("") == "!="
        number = count(self._next("a value"))
        first, last = ranges[0]
        # A variable's own size, unless another is given.
        size = last - first + 1 if numbers is None and last - first + 1 in _SIZES and last > first else 4
        size = count(self._next("a number of bytes")) if self._skip("size") else size
        ignored = count(self._next("a mask")) if self._skip("ignoring") else 0
        value = DataValue(number, size, ignored, differs)
        where = AddressRange(first, last if numbers is not None else first)
        return Accessed(where, access, value)

    def _data(self, text: str) -> Sequence[Range]:
        if text[:1].isdigit():
            return [(count(text), count(text))]
        return required(self._places).data(text)

    def _skip(self, word: str) -> bool:
        if self.rest[:1] != [word]:
            return False
        self.rest = self.rest[1:]
        return True

    def _next(self, wanted: str) -> str:
        if not self.rest or self.rest[0] in (*_JOINS, ")"):
            raise CommandError("%s is missing%s" % (wanted, ' before "%s"' % self.rest[0] if self.rest else ""))
        word, self.rest = self.rest[0], self.rest[1:]
        return word
