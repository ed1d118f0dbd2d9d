"""README and the pages under docs/: their blocks and GDB sessions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import List, NamedTuple, Tuple

ROOT = Path(__file__).resolve().parents[1]
GUIDE = ROOT / "docs" / "guide"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
TOUR = GUIDE / "tour.md"

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# What differs from one run, machine or GDB to the next, and what the pages show in its place: the words of GDB 13.
_VARYING: Tuple[Tuple[str, str], ...] = (
    (r"server on /\S+", "server on /run/user/1000/gdb_etm-5lwipq5z/gdb"),
    (
        r"^in [\d.]+ s: the core was halted \d+ % of the time, [\d.]+ \w+/s of",
        "in 1.27 s: the core was halted 55 % of the time, 4.15 KiB/s of",
    ),
    (r"^pyOCD [\d.]+", "pyOCD 0.46.0"),
    (r"^Reached end of recorded history; stopping\.\n.*\n", "No more reverse-execution history.\n"),
)


class Block(NamedTuple):
    """What stands between two fences of a page."""

    page: Path
    language: str
    text: str
    # Its place among the blocks of its page, from 1.
    number: int

    @property
    def name(self) -> str:
        """What a test calls it."""
        return "%s:%d" % (self.page.relative_to(ROOT), self.number)

    @property
    def is_session(self) -> bool:
        """Whether it is what a GDB prints."""
        return self.text.startswith("(gdb) ")

    @property
    def commands(self) -> List[str]:
        """What is typed at GDB's prompt."""
        return [line[len("(gdb) ") :] for line in self.text.splitlines() if line.startswith("(gdb) ")]


def blocks(page: Path) -> List[Block]:
    """Find a page's blocks, in order."""
    found = enumerate(_BLOCK.finditer(page.read_text("utf-8")), 1)
    return [Block(page, match.group(1), match.group(2), number) for number, match in found]


def replace(block: Block, text: str) -> None:
    """Put another text between the fences of a block."""
    whole = block.page.read_text("utf-8")
    fenced = "```%s\n%s```\n"
    old, new = fenced % (block.language, block.text), fenced % (block.language, text)
    assert whole.count(old) == 1, block.name
    block.page.write_text(whole.replace(old, new), "utf-8")


def shown(printed: str) -> str:
    """Make a program's output comparable with a page.

    Blanks at line ends go, and what differs between machines is replaced.
    """
    text = "".join(line.rstrip() + "\n" for line in printed.splitlines())
    for pattern, word in _VARYING:
        text = re.sub(pattern, word, text, flags=re.MULTILINE)
    return text
