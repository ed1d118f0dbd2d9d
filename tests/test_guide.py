"""The source, read, and the shell: the packaged guide.

The guide comes with the package, and every command names its page.
"""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Tuple

import pytest

from gdb_etm.commands.declare import help_text
from gdb_etm.commands.guide import pages
from gdb_etm.commands.registry import COMMANDS
from tests.pages import GUIDE, ROOT


def guide(*words: str) -> Tuple[int, str, str]:
    """Run ``gdb-etm guide``; give its status, standard output and standard error."""
    command = [sys.executable, "-m", "gdb_etm", "guide", *words]
    pipe = subprocess.PIPE
    done = subprocess.run(command, stdout=pipe, stderr=pipe, cwd=str(ROOT), timeout=60, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_each_page_is_printed_as_it_is() -> None:
    assert pages() == sorted(path.stem for path in GUIDE.glob("*.md") if path.stem != "README")
    for words, path in (((), "README.md"), (("filters",), "filters.md"), (("reverse.md",), "reverse.md")):
        assert guide(*words) == (0, (GUIDE / path).read_text("utf-8"), "")


@pytest.mark.parametrize("word", ["filter", "../design/planning", "README.md.md", "/etc/passwd"])
def test_what_is_no_page_is_refused(word: str) -> None:
    status, out, err = guide(word)
    assert (status, out) == (1, "")
    assert err == 'gdb-etm: the guide has no page "%s"; it has %s\n' % (word, ", ".join(pages()))


def test_each_command_names_a_page_that_shows_it() -> None:
    for command in COMMANDS:
        page = help_text(command).splitlines()[-1].split('"')[1].split()[-1]
        assert page in pages(), command.name
    cells = re.findall(r"^\| (`.*?) \|", (GUIDE / "README.md").read_text("utf-8"), re.MULTILINE)
    listed = {word for cell in cells for word in re.findall(r"[\w-]+", cell)}
    assert [command.name for command in COMMANDS if command.name not in listed] == []


def test_the_package_has_the_pages() -> None:
    assert (ROOT / "gdb_etm" / "guide").resolve() == GUIDE
    assert "guide/*.md" in (ROOT / "setup.cfg").read_text("utf-8")
