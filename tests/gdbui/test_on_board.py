"""Real GDB, real pyOCD: ``etm on`` and the board's truth.

Events stand where the truth has them, and cut it.
"""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Sequence, Set, Tuple

import pytest

from tests.firmware.build import elf
from tests.gdbui.traced import Wanted, branches, cut, functions, history, traced, truth

_FULL = "--etb-size 1M --option board.resources=full"
_EVENT = re.compile(r"<event (\d)(?:: (.*))?>$")
_NUMBERED = re.compile(r"(\d+) ( |!) *0x([0-9a-f]{8}) ")
PATH = elf("interrupts")
KNOWN = {name: first for name, (first, _) in functions(PATH).items()}
P0 = branches(PATH)


def session(board: str, folder: Path, commands: Sequence[str], options: str = _FULL, after: Sequence[str] = ()) -> str:
    return traced(board, PATH, folder, commands, options, after)


def told(output: str) -> List[Tuple[int, int]]:
    """List the history's events: number, and the next instruction's number."""
    found: List[Tuple[int, int]] = []
    waiting: List[int] = []
    for line in output.splitlines():
        event, instruction = _EVENT.match(line), _NUMBERED.match(line)
        if event is not None:
            waiting.append(int(event[1]))
        elif instruction is not None:
            found += [(number, int(instruction[1])) for number in waiting]
            waiting.clear()
    return found


class Truth(NamedTuple):
    """What ran, instruction by instruction."""

    addresses: List[int]
    # Of each instruction, the number of the first one of its block, from 1.
    blocks: List[int]
    # Indices of the first instructions of exception handlers.
    entries: Set[int]

    def at(self, name: str) -> List[bool]:
        """Tell where a function is entered."""
        return [address == KNOWN[name] for address in self.addresses]

    def inside(self, name: str) -> List[bool]:
        """Tell where a function's own instructions are."""
        first, end = functions(PATH)[name]
        return [first <= address < end for address in self.addresses]

    def marks(self, number: int, flags: Sequence[bool]) -> List[Tuple[int, int]]:
        """List where an event becomes true, before its block (6.4.11)."""
        return [(number, self.blocks[n]) for n, flag in enumerate(flags) if flag and not (n and flags[n - 1])]


def ran(folder: Path) -> Truth:
    result = Truth([], [], set())
    boundary = True
    for each in truth(folder):
        if each is None:
            boundary = True
            continue
        result.blocks.append(len(result.addresses) + 1 if boundary else result.blocks[-1])
        result.addresses.append(each.address)
        boundary = each.address in P0
    told = -1
    for line in (folder / "truth").read_text("ascii").splitlines():
        told += line.startswith("0x")
        if line.startswith("exception ") and told >= 0:
            result.entries.add(told + 1)
    return result


def latched(sets: Sequence[bool], clears: Sequence[bool]) -> List[bool]:
    """Remember what was so last, as from the instruction itself on."""
    result, state = [], False
    for up, down in zip(sets, clears):
        state = (state or up) and not down
        result.append(state)
    return result


def both(first: Sequence[bool], second: Sequence[bool]) -> List[bool]:
    return [one and other for one, other in zip(first, second)]


def either(first: Sequence[bool], second: Sequence[bool]) -> List[bool]:
    return [one or other for one, other in zip(first, second)]


def nth(flags: Sequence[bool], first: int, period: int = 0) -> List[bool]:
    """Keep item N, from 1, and those of later periods."""
    result, seen = [], 0
    for flag in flags:
        seen += flag
        result.append(flag and (seen == first or bool(period) and seen > first and (seen - first) % period == 0))
    return result


_Marks = Callable[[Truth], List[Tuple[int, int]]]
_IRQ = ["on exec IRQ1_Handler do next-state 0-1", "on exec PendSV_Handler do next-state 1-0"]
CASES: Dict[str, Tuple[List[str], List[_Marks]]] = {
    "places": (
        [
            "on exec note do mark",
            "on in pend do mark 1",
            "on exec note or exec pend do mark 2",
            "on not (in note or in pend) do mark 3",
        ],
        [
            lambda t: t.marks(0, t.at("note")),
            lambda t: t.marks(1, t.inside("pend")),
            lambda t: t.marks(2, either(t.at("note"), t.at("pend"))),
            lambda t: t.marks(3, [not each for each in either(t.inside("note"), t.inside("pend"))]),
        ],
    ),
    "counters": (
        [
            "counter 0 3",
            "on exec note do count 0",
            "on counter 0 do mark 0",
            "counter 1 2",
            "on exec note do count 1",
            "on exec PendSV_Handler do reload 1",
            "on counter 1 do mark 1",
            "counter 2 3 --periodic",
            "on exec note do count 2",
            "on counter 2 do mark 2",
        ],
        [
            lambda t: t.marks(0, nth(t.at("note"), 3)),
            lambda t: t.marks(1, _zero(t, 2)),
            lambda t: t.marks(2, nth(t.at("note"), 4, 4)),
        ],
    ),
    "states": (
        [
            *_IRQ,
            "on exec note and state 1 do mark",
            "counter 0 1 --periodic",
            "counter 1 2 --chained",
            "on exec note do count 0",
            "on counter 1 do mark",
        ],
        [
            lambda t: t.marks(0, both(t.at("note"), latched(t.at("IRQ1_Handler"), t.at("PendSV_Handler")))),
            lambda t: t.marks(1, nth(t.at("note"), 4)),
        ],
    ),
    "all states": (
        [
            "on exec IRQ1_Handler do next-state 0-1",
            "on exec IRQ2_Handler do next-state 1-2",
            "on exec PendSV_Handler do first-state",
            "on state 2 do mark",
            "on once exec note do mark",
            "on each (exec note or in pend) do mark",
        ],
        [
            lambda t: t.marks(0, _second(t)),
            lambda t: t.marks(1, nth(t.at("note"), 1)),
            lambda t: t.marks(2, either(t.at("note"), t.inside("pend"))),
        ],
    ),
    "not states": (
        [
            *_IRQ,
            "sequencer begin 1",
            "on not state 1 and exec note do mark",
            "on always do mark 2",
            "on never do mark 3",
            "on input 4 do mark 1",
        ],
        [
            lambda t: t.marks(0, both(t.at("note"), _begun(t))),
            lambda t: [(2, 1)],
            lambda t: t.marks(1, [n in t.entries for n in range(len(t.addresses))]),
        ],
    ),
}


CASES["outputs"] = (
    ["on exec note do output 2", "on input 2 do mark 1"],
    # On the boards an output is wired to the input of its number, which is heard of in the next cycle.
    [lambda t: t.marks(1, late(t.at("note"), False))],
)


def _zero(t: Truth, count: int) -> List[bool]:
    left, result = count, []
    for down, up in zip(t.at("note"), t.at("PendSV_Handler")):
        left = count if up else max(left - down, 0)
        result.append(left == 0)
    return result


def _second(t: Truth) -> List[bool]:
    state, result = 0, []
    for one, two, reset in zip(t.at("IRQ1_Handler"), t.at("IRQ2_Handler"), t.at("PendSV_Handler")):
        state = 0 if reset else 1 if one and state == 0 else 2 if two and state == 1 else state
        result.append(state == 2)
    return result


def _begun(t: Truth) -> List[bool]:
    state, result = True, []
    for up, down in zip(t.at("IRQ1_Handler"), t.at("PendSV_Handler")):
        state = (state or up) and not down
        result.append(not state)
    return result


@pytest.mark.sweep
@pytest.mark.parametrize("name", CASES)
def test_marks_are_where_the_truth_has_them(name: str, tmp_path: Path) -> None:
    commands, expected = CASES[name]
    output = session("m33", tmp_path, ["etm " + command for command in commands])
    found = ran(tmp_path)
    assert history(output) == found.addresses
    for marks in expected:
        wanted = marks(found)
        numbers = {number for number, _ in wanted}
        assert [each for each in told(output) if each[0] in numbers] == wanted != []
    assert not any(number == 3 for number, _ in told(output)) or name == "places"


VIEWS: Dict[str, Tuple[List[str], Callable[[Truth], Sequence[bool]]]] = {
    "start and stop": (
        ["on exec note do start", "on exec happened do stop"],
        lambda t: started(t.at("note"), t.at("happened")),
    ),
    "start by a counter": (
        [
            "counter 0 3 --periodic",
            "on exec note do count 0",
            "on counter 0 do start",
            "on exec PendSV_Handler do stop",
        ],
        lambda t: _counted(t),
    ),
    "stop by a state": (
        [*_IRQ, "on state 1 do stop"],
        lambda t: late([not each for each in _ever(t.at("IRQ1_Handler"))], True),
    ),
    "trace": (["on in pend or in note do trace"], lambda t: either(t.inside("pend"), t.inside("note"))),
}


def started(starts: Sequence[bool], stops: Sequence[bool]) -> List[bool]:
    # Both ends are traced (4.1.3).
    result, on = [], False
    for start, stop in zip(starts, stops):
        on = on or start
        result.append(on)
        on = on and not stop
    return result


def _counted(t: Truth) -> List[bool]:
    return latched(nth(t.at("note"), 4, 4), t.at("PendSV_Handler"))


def late(flags: Sequence[bool], before: bool) -> List[bool]:
    # A counter hears of a state in the next cycle, which on the board is the next instruction (4.4.3).
    return [before, *flags[:-1]]


def _ever(flags: Sequence[bool]) -> List[bool]:
    return latched(flags, [False] * len(flags))


@pytest.mark.sweep
@pytest.mark.parametrize("name", VIEWS)
def test_history_is_the_truth_cut_by_events(name: str, tmp_path: Path) -> None:
    commands, view = VIEWS[name]
    output = session("m7", tmp_path, ["etm " + command for command in commands])
    found = ran(tmp_path)
    flags = iter(view(found))
    assert history(output) == cut(truth(tmp_path), lambda each: next(flags), P0) != []


_SETTINGS = ("cycle-count 16", "timestamps on", "branch-broadcast on", "return-stack off", "stall 9")


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(6))
def test_filters_events_and_settings_together(seed: int, tmp_path: Path) -> None:
    """Random filters and events combine; other settings do not interfere."""
    chance = random.Random(seed)
    names = ["note", "pend", "happened", "IRQ1_Handler", "IRQ2_Handler", "PendSV_Handler", "run"]
    one, other = chance.sample(names, 2)
    rules, flags = chance.choice(
        (
            (["in %s or in %s do trace" % (one, other)], lambda t: either(t.inside(one), t.inside(other))),
            (["exec %s do start" % one, "exec %s do stop" % other], lambda t: started(t.at(one), t.at(other))),
        )
    )
    filters = chance.sample(
        [
            "include " + ",".join(chance.sample(names, 3)),
            "exclude " + chance.choice(names),
            "exceptions " + chance.choice(("off", "only", "on")),
        ],
        chance.randint(1, 2),
    )
    board, settings = ("m33", "m7")[seed % 2], chance.sample(_SETTINGS, 2) + (["data both"] if seed % 2 else [])
    commands = ["set " + each for each in settings] + ["filter " + each for each in filters]
    output = session(
        board,
        tmp_path,
        ["etm " + each for each in [*commands, *("on " + rule for rule in rules)]],
        _FULL.replace("1M", "4M") + " --option board.comparators=8",
    )
    wanted, left = Wanted(PATH, filters), iter(flags(ran(tmp_path)))
    kept = cut(truth(tmp_path), lambda each: bool(wanted(each) & next(left)), P0)
    assert history(output) == kept and "this unit has" not in output, commands + rules


@pytest.mark.sweep
@pytest.mark.parametrize("board, percent, resources", [("m33", 25, "full"), ("m33", 0, "own"), ("m7", 60, "own")])
def test_trigger_stops_the_buffer(board: str, percent: int, resources: str, tmp_path: Path) -> None:
    """The history ends before the halt, some bytes after the trigger.

    The boards' own units have only the DWT's comparators.
    """
    commands = ["etm on exec PendSV_Handler do trigger", "etm trigger position %d" % percent]
    output = session(board, tmp_path, commands, "--etb-size 1K --option board.resources=" + resources)
    after = 1024 * percent // 100 // 16 * 16
    assert "note: a trigger has stopped the buffer with %d bytes after it: the trace ends before" % after in output
    found, seen = ran(tmp_path), history(output)
    # What was recorded is one stretch of the truth, with the trigger in it.
    first = next(n for n in range(len(found.addresses)) if found.addresses[n : n + len(seen)] == seen)
    assert 0 < first + len(seen) < len(found.addresses)
    wanted = found.marks(0, found.at("PendSV_Handler"))[0]
    if not percent:
        # The packet that tells of it comes too late itself.
        assert first + len(seen) + 1 == wanted[1]
        return
    event, number = told(output)[0]
    assert (event, first + number) == wanted
    assert "<event 0: trigger at exec PendSV_Handler>" in output


def test_trigger_that_does_not_come(tmp_path: Path) -> None:
    output = session("m33", tmp_path, ["etm on exec failed do trigger"])
    assert "note: no trigger came: the trace goes to the halt" in output
    assert history(output) == ran(tmp_path).addresses


def test_counters_go_on_over_a_halt(tmp_path: Path) -> None:
    """Counts before a breakpoint are kept."""
    commands = ["etm counter 0 7", "etm on exec note do count 0", "etm on counter 0 do mark", "hbreak PendSV_Handler"]
    more = ["etm reg TRCCNTVR0", "delete", "continue", "etm captures 2", "etm history 1,100000"]
    before, _, rest = session("m33", tmp_path, commands, after=more).partition("TRCCNTVR0")
    count = len(re.findall("<note> ", before))
    assert 0 < count < 7 and rest.startswith(" = 0x%08x:" % (7 - count))
    ((_, number),) = told(rest)
    assert len(re.findall("<note> ", rest[: rest.index("<event 0: counter 0>")])) == 7 - count - 1
    assert told(before) == [] and number


def test_timestamps_at_events(tmp_path: Path) -> None:
    output = session("m33", tmp_path, ["etm on exec note do timestamp"], after=["etm packets 1,100000"])
    without = session("m33", tmp_path, [], after=["etm packets 1,100000"])
    count = len(ran(tmp_path).marks(0, ran(tmp_path).at("note")))
    assert output.count("Timestamp") - without.count("Timestamp") >= count > 0


def test_data_of_a_variable(tmp_path: Path) -> None:
    """The M7's fuller unit compares data addresses and values."""
    output = session(
        "m7",
        tmp_path,
        [
            "etm on store length == 0 do mark",
            "etm on load length do mark 1",
            "etm on access order == 0x5b size 1 do mark 2",
        ],
        _FULL + " --option board.truth_data=1",
    )
    found, length, order = ran(tmp_path), 0x20000000, 0x20000004
    moved = transfers(tmp_path, len(found.addresses))
    wanted = [
        found.marks(0, [("store", length, 0) in each for each in moved]),
        found.marks(1, [any(kind == "load" and at == length for kind, at, _ in each) for each in moved]),
        found.marks(2, [any(at == order and value == 0x5B for _, at, value in each) for each in moved]),
    ]
    for number, marks in enumerate(wanted):
        assert [each for each in told(output) if each[0] == number] == marks != []


def transfers(folder: Path, count: int) -> List[List[Tuple[str, int, int]]]:
    """List what each instruction loaded and stored."""
    result: List[List[Tuple[str, int, int]]] = [[] for _ in range(count)]
    at = -1
    for line in (folder / "truth").read_text("ascii").splitlines():
        words = line.split()
        if line.startswith("exception"):
            exception = True
        elif line.startswith("0x"):
            at, exception = at + 1, False
        elif words[0] in ("load", "store") and 0 <= at < count and not exception:
            result[at].append((words[0], int(words[1], 16), int(words[3], 16)))
    return result


@pytest.mark.sweep
@pytest.mark.parametrize("words", ["data-include length", "data-exclude length", "data-include 0x20000004-0x20000007"])
def test_loads_and_stores_that_filters_leave(words: str, tmp_path: Path) -> None:
    """Those of the truth at a variable, or outside the stack.

    Exceptions store to the stack too.
    """
    commands = ["set etm data addresses", "etm filter " + words]
    output = session("m7", tmp_path, commands, _FULL + " --option board.truth_data=1", ["etm history /d 1,1000000"])
    addresses = ran(tmp_path).addresses
    stack, (first, last) = 0x20070000, (0x20000004, 0x20000007) if "-0x" in words else (0x20000000, 0x20000003)
    wanted = [
        (kind, at)
        for each in transfers(tmp_path, len(addresses))
        for kind, at, _ in each
        if at < stack and (first <= at <= last) == ("include" in words)
    ]
    assert history(output)[: len(addresses)] == addresses
    found = [(kind, int(at, 16)) for kind, at in re.findall(r"^ +(load|store) .* at 0x([0-9a-f]{8})", output, re.M)]
    assert [each for each in found if each[1] < stack] == wanted != []
    assert found == wanted or "exclude" in words


@pytest.mark.parametrize("board", ["m33", "m7"])
def test_comparators_of_the_processor(board: str, tmp_path: Path) -> None:
    """The user programmed the DWT by hand (DDI 0403E, C1.8)."""
    function = {"m33": 2, "m7": 8}[board]
    rows = [(0, KNOWN["note"]), (1, KNOWN["PendSV_Handler"])]
    by_hand = [
        "set {int}0x%x = 0x%x" % (0xE0001020 + 16 * n + at, value)
        for n, address in rows
        for at, value in ((0, address), (8, function))
    ]
    commands = ["etm on dwt 0 do mark", "etm on dwt 0 or dwt 1 do mark 1", "etm on once dwt 1 do stop"]
    output = session(board, tmp_path, [*by_hand, *commands])
    found, seen = ran(tmp_path), history(output)
    assert seen == found.addresses[: len(seen)] and len(seen) < len(found.addresses)
    wanted = found.marks(0, found.at("note")) + found.marks(1, either(found.at("note"), found.at("PendSV_Handler")))
    shown = [each for each in wanted if each[1] <= len(seen)]
    assert sorted(told(output)) == sorted(shown) != []
