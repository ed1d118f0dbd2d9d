"""Real GDB session: the README shows what the demo really prints.

After a change to either, ``python -m tests.test_readme`` puts the demo's transcript into the README.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
_BLOCK = re.compile(r"(?<=^```\n)\(gdb\) source gdb_etm\n.*?(?=^```$)", re.DOTALL | re.MULTILINE)
# What differs from one run or machine to the next.
_VARYING = ((re.compile(r"localhost:\d+"), "localhost:PORT"), (re.compile(r"pyOCD [\d.]+"), "pyOCD VERSION"))
_SECONDS = 240


def demo() -> str:
    """Run the demo and give its transcript without blanks at line ends."""
    done = subprocess.run(
        [str(ROOT / "scripts" / "demo")],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        check=True,
        text=True,
        timeout=_SECONDS,
        cwd=str(ROOT),
    )
    return "".join(line.rstrip() + "\n" for line in done.stdout.splitlines())


def _normal(transcript: str) -> str:
    for pattern, word in _VARYING:
        transcript = pattern.sub(word, transcript)
    return transcript


def test_transcript_is_the_demo() -> None:
    """The README's transcript is the demo's output, but for the port and pyOCD's version."""
    shown = _BLOCK.search(README.read_text())
    assert shown is not None, "README.md has no transcript"
    assert _normal(shown.group()) == _normal(demo())


if __name__ == "__main__":
    text = demo()
    README.write_text(_BLOCK.sub(lambda found: text, README.read_text()))
