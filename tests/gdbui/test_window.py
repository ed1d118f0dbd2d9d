"""Real GDB on a terminal: the TUI window with the history."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Iterator, List

import pytest

from tests.firmware.build import elf
from tests.gdb_session import SCRIPT, gdb_program
from tests.replay.boards import DEMO, ELF
from tests.terminal import Terminal

_PROMPT = "(gdb) "
_REDRAW = "\x0c"
_CLEARED = "\x1b[2J"
# Moves of the terminal's cursor, and its other controls.
_CONTROL = re.compile(r"(?:\x1b(?:\[[0-9;?]*[A-Za-z]|\([0B])|[\r\n\x0e\x0f ])+")


class Screen:
    """GDB's TUI, 120 columns and 40 lines.

    :param terminal: Where it runs.
    """

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        terminal.resize(120, 40)
        terminal.wait(_PROMPT)

    def type(self, line: str, until: str) -> None:
        """Type a line, and wait for a text."""
        at = len(self._terminal.seen)
        self._terminal.type(line + "\n")
        self._terminal.wait(until, at)

    def press(self, keys: str, until: str = "") -> None:
        """Press keys, and wait for a text."""
        at = len(self._terminal.seen)
        self._terminal.type(keys)
        self._terminal.wait(until, at)

    def show(self) -> str:
        """Have all of it drawn anew; give its words in their order."""
        at = len(self._terminal.seen)
        self._terminal.type(_REDRAW)
        at = self._terminal.wait(_CLEARED, at)
        self._terminal.wait("PC: ", at)
        return _CONTROL.sub(" ", self._terminal.seen[at:])


@pytest.fixture
def screen(tmp_path: Path) -> Iterator[Screen]:
    environment = dict(os.environ, TERM="xterm", HOME=str(tmp_path), LC_ALL="C.UTF-8")
    environment["INPUTRC"] = "/dev/null"
    first = ["set pagination off", "set confirm off", "set style enabled off", "source %s" % SCRIPT]
    words = [word for line in first for word in ("-ex", line)]
    with Terminal([gdb_program(), "-nx", "-q", *words], environment, DEMO) as terminal:
        yield Screen(terminal)


def _demo(screen: Screen) -> None:
    screen.type("etm connect board:m33 --elf %s" % ELF, "Trace: ")
    screen.type("etm start", "Tracing everything")
    screen.type("break dispatch", "Breakpoint 1")
    screen.type("continue", "52 calls")
    screen.type("continue", "instructions from dispatch")


def _in_order(text: str, words: List[str]) -> bool:
    return re.search(".*".join(map(re.escape, words)), text) is not None


def test_the_window_and_the_source_follow_the_position(screen: Screen) -> None:
    screen.type("layout etm", "not connected")
    assert 'nothing captured: not connected. Try "etm connect"' in screen.show()
    _demo(screen)
    shown = screen.show()
    assert "etm: the end of 2,912 instructions" in shown and "=>" not in shown
    assert _in_order(shown, ["2707 + parse 202 instructions", "2909 0x000000d0 <main+72>", "[halt in dispatch (break"])
    screen.type("etm goto 2909", "2,909 of 2,912")
    shown = screen.show()
    assert _in_order(
        shown, ["etm: instruction 2,909 of 2,912", "2707 + parse 202", "=> 2909 0x000000d0 <main+72> cmp r0"]
    )
    assert "main.c" in shown and "In: main" in shown
    # Within the call it is open, and its own are folded.
    screen.type("reverse-stepi", "0x2aa")
    shown = screen.show()
    assert "2786 + parse_values 118 instructions" in shown and "=> 2908 0x000002aa <parse+38> pop" in shown
    assert "rx.c" in shown and "In: parse" in shown


def test_keys_scroll_and_a_click_opens_a_call(screen: Screen) -> None:
    _demo(screen)
    screen.type("layout etm", "PC: ")
    screen.type("focus etm", "Focus set to etm")
    up, page_up, down = "\x1bOA", "\x1b[5~", "\x1bOB"
    ends = "[halt in dispatch (breakpoint 1)]"
    assert ends in screen.show()
    screen.press(up)
    assert ends not in screen.show()
    screen.press(down)
    assert ends in screen.show()
    screen.press(page_up)
    shown = screen.show()
    assert "2639 + <IRQ0 (exception 16)> 26 instructions" in shown and "2912 0x" not in shown
    # Any other position is in the middle again.
    screen.type("etm goto 2909", "2,909 of 2,912")
    shown = screen.show()
    assert "2707 + parse 202 instructions" in shown and "parse_values" not in shown
    lines = re.findall(r"(?<= x )(?:=> )?(?:\d+ [+0]|\[)", shown)
    row = 2 + next(index for index, one in enumerate(lines) if one == "2707 +")
    screen.press("\x1b[<0;9;%dM\x1b[<0;9;%dm" % (row, row), "starts_with   14")
    assert "2712 + starts_with 14 instructions" in screen.show()


def test_the_thread_is_named_and_switches_are_lines(screen: Screen) -> None:
    screen.type("etm connect board:m33 --elf %s" % elf("tasks"), "Trace: ")
    screen.type("etm start", "Tracing everything")
    screen.type("continue", "in 528 bytes")
    screen.type("layout etm", "PC: ")
    screen.type("etm goto --thread 2 last", "1,619 of 1,893")
    shown = screen.show()
    assert "etm: task (thread 2): instruction 1,619 of 1,893" in shown
    around = ["=> 1619 0x000000fe <task+46> svc 0", "1620 + <SVCall (exception 11)> 4 instructions"]
    around += [
        "1624 + <PendSV (exception 14)> 28 instructions",
        "[switch task (thread 2) -> task (thread 3)]",
        "1652 0x",
    ]
    assert _in_order(shown, around)


def test_what_was_not_read_is_told(screen: Screen) -> None:
    screen.type("set etm drain lazy", _PROMPT)
    screen.type("etm connect board:m33 --elf %s" % ELF, "Trace: ")
    screen.type("etm start", "Tracing everything")
    screen.type("break dispatch", "Breakpoint 1")
    screen.type("continue", "Breakpoint 1, ")
    screen.type("layout etm", "still in the buffer")
    screen.type("etm history -1", "1782 ")
    assert "etm: the end of 1,782 instructions" in screen.show()
