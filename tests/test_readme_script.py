"""Real GDB session, and real pyOCD alone: the script of python.md.

After a change to either, ``python -m tests.test_readme_script`` puts what it prints into the page.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Tuple

import pytest

from tests.gdb_session import ROOT, run_gdb
from tests.pages import GUIDE

pytest.importorskip("unicorn")

PAGE = GUIDE / "python.md"
_FOLDER = ROOT / "gdb_etm" / "board" / "firmware" / "demo"
_SCRIPT = re.compile(r"^```python\n(.*?)^```$.*?^```\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_SECONDS = 120


def shown() -> Tuple[str, str]:
    """Give the page's script and what it prints."""
    found = _SCRIPT.search(PAGE.read_text())
    assert found is not None, "no script"
    return found.group(1), found.group(2)


def printed(script: str) -> str:
    """Run a script outside GDB, in the folder of the demo."""
    done = subprocess.run(
        [sys.executable, "-"],
        input=script,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=_SECONDS,
        cwd=str(_FOLDER),
        env=dict(os.environ, PYTHONPATH=str(ROOT)),
    )
    return done.stdout


def test_the_script_prints_what_stands_there() -> None:
    script, output = shown()
    assert 15 <= script.count("\n") <= 25
    assert printed(script) == output


def test_inside_gdb_it_prints_the_same(tmp_path: Path) -> None:
    script, output = shown()
    (tmp_path / "which.py").write_text(script)
    transcript = run_gdb(["source %s" % (tmp_path / "which.py"), "etm captures"], cwd=_FOLDER)
    lines = transcript.splitlines()
    first, *rest = output.splitlines()
    assert first in lines and "Breakpoint 1, dispatch (" in transcript
    at = lines.index(rest[0])
    assert lines[at : at + len(rest)] == rest
    last = lines[at + len(rest)]
    assert last.startswith("* 1  ") and last.endswith("halt in dispatch (breakpoint 1)")


if __name__ == "__main__":
    text = PAGE.read_text()
    before, after = shown()
    PAGE.write_text(text.replace(after, printed(before)))
