"""Real GDB on a terminal: listings around the position, and Enter."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import List

import pytest

from tests.gdb_session import ROOT, SCRIPT, gdb_program
from tests.shared import capture_folder
from tests.terminal import Terminal

_CAPTURE = "bugfix-exact-match"
_PROMPT = "(gdb) "


class Session:
    """GDB at a terminal, with a capture loaded.

    :param terminal: Where it runs.
    """

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._at = terminal.wait(_PROMPT)

    def run(self, line: str) -> List[str]:
        """Type a line; give what is printed."""
        at = self._at
        self._terminal.type(line + "\n")
        self._at = self._terminal.wait(_PROMPT, at)
        return self._terminal.seen[at : self._at - len(_PROMPT)].splitlines()[1:]

    def numbers(self, line: str) -> List[int]:
        """Type a line; give the numbers of what is listed."""
        found = [re.match(r"(?:=> |   )?(\d+)   ", text) for text in self.run(line)]
        return [int(one[1]) for one in found if one is not None]


def _listed(first: int, last: int) -> List[int]:
    return list(range(first, last + 1))


@pytest.mark.gdb
def test_listings_around_the_position(tmp_path: Path) -> None:
    environment = dict(os.environ, TERM="dumb", HOME=str(tmp_path), LC_ALL="C.UTF-8", INPUTRC="/dev/null")
    arguments = [gdb_program(), "-nx", "-q", "-ex", "set width 0", "-ex", "set height 0", "-ex", "source %s" % SCRIPT]
    with Terminal(arguments, environment, ROOT) as terminal:
        session = Session(terminal)
        session.run("etm load %s" % capture_folder(_CAPTURE))
        length = 7581461
        assert session.numbers("etm history") == _listed(length - 9, length)
        assert not any(line.startswith("=>") for line in session.run("etm history"))
        session.run("etm goto 3000")
        around = session.run("etm history")
        assert [line[:7] for line in around] == ["   %d" % n if n != 3000 else "=> 3000" for n in _listed(2995, 3004)]
        # Enter goes on, the same line typed again shows the same.
        assert session.numbers("") == _listed(3005, 3014)
        assert session.numbers("") == _listed(3015, 3024)
        assert session.numbers("etm history") == _listed(2995, 3004)
        assert session.numbers("etm history") == _listed(2995, 3004)
        assert session.numbers("etm history -") == _listed(2985, 2994)
        assert session.numbers("") == _listed(2975, 2984)
        assert session.numbers("etm history 100,+3") == _listed(100, 102)
        assert session.numbers("") == _listed(103, 112)
        assert session.numbers("etm history +") == _listed(113, 122)
        session.run("etm goto end")
        assert session.numbers("etm history") == _listed(length - 9, length)
