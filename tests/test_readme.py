"""Real GDB sessions: README and docs/ show what is printed.

Each session is typed as it stands there, in the folder of the simulated board's program, into a GDB of its own.
After a change to what is printed, ``python -m tests.test_readme`` puts the sessions into the pages.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.gdb_session import SCRIPT, demo_script, run_gdb
from tests.pages import GUIDE, PAGES, ROOT, TOUR, Block, blocks, replace, shown

pytest.importorskip("unicorn")

_FOLDER = ROOT / "gdb_etm" / "board" / "firmware" / "demo"
_SESSIONS = [block for page in PAGES if page != TOUR for block in blocks(page) if block.is_session]
# Blocks that are no sessions, and the test that holds them.
_OTHERS = {
    GUIDE / "python.md": "tests/test_readme_script.py",
    GUIDE / "editor.md": "tests/gdbui/test_debug_adapter.py",
    GUIDE / "boards.md": "tests/board/test_boards_page.py",
    GUIDE / "unattended.md": "tests/unattended/test_page.py",
    GUIDE / "farm.md": "tests/farm/test_page.py",
    GUIDE / "openocd.md": "tests/gdbui/test_openocd_page.py",
}
_LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
_SECONDS = 240


def demo() -> str:
    """Run the demo and give its transcript."""
    done = subprocess.run(
        [demo_script()],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        check=True,
        text=True,
        timeout=_SECONDS,
        cwd=str(ROOT),
    )
    return shown(done.stdout)


def session(block: Block) -> str:
    """Type a session into GDB; return what is printed.

    GDB finds ``gdb_etm`` as an installed one does.
    """
    asked = ["set directories %s:$cdir:$cwd" % SCRIPT.parent]
    for command in (*block.commands, "end"):
        asked.append("echo (gdb) %s\\n" % command)
        asked += [command] if command != "end" else []
    output = run_gdb(asked, cwd=_FOLDER, source=False)
    return shown(output[output.index("(gdb) ") : output.index("(gdb) end")])


def test_the_tour_is_the_demo() -> None:
    (block,) = blocks(TOUR)
    assert block.text == demo()


@pytest.mark.parametrize("block", [pytest.param(block, id=block.name) for block in _SESSIONS])
def test_session_is_what_gdb_prints(block: Block) -> None:
    assert block.commands[0] == "source gdb_etm"
    assert block.text == session(block)


def test_no_block_is_held_by_nobody() -> None:
    assert len(_SESSIONS) >= 9
    for page in PAGES:
        others = [block.name for block in blocks(page) if not block.is_session]
        assert not others or page in _OTHERS, others
    for page, holder in _OTHERS.items():
        assert page.name in (ROOT / holder).read_text("utf-8"), holder


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    for link in _LINK.findall(page.read_text("utf-8")):
        name, _, heading = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert "://" in link or target.exists(), link
        if heading:
            lines = target.read_text("utf-8").splitlines()
            headings = [re.sub(r"[^\w -]", "", line.lstrip("# ")).lower() for line in lines if line.startswith("#")]
            assert heading in [each.replace(" ", "-") for each in headings], link


@pytest.mark.parametrize("folder", [GUIDE, GUIDE.parent / "design"], ids=["guide", "design"])
def test_the_list_of_pages_has_each_once(folder: Path) -> None:
    index = folder / "README.md"
    first = [links[0] for links in map(_LINK.findall, index.read_text("utf-8").splitlines()) if links]
    listed = [link for link in first if "/" not in link]
    assert sorted(listed) == sorted(page.name for page in folder.glob("*.md") if page != index)


def test_what_the_buffer_holds_is_what_the_sessions_show() -> None:
    counts = re.findall(r"^\|[^|]*\| ([\d,]+) \|$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    printed = "".join(block.text for block in _SESSIONS)
    assert len(counts) == 3
    for number in counts:
        assert re.search(r"^etm: %s .* in 4,096 bytes" % number, printed, re.MULTILINE), number


def test_readme_names_the_versions_of_the_table() -> None:
    rows = re.findall(
        r"^\| (\d+\.\d+) \| ([\d.]+) \| ([\d.]+) \|", (GUIDE / "versions.md").read_text("utf-8"), re.MULTILINE
    )
    readme = (ROOT / "README.md").read_text("utf-8")
    assert "; tested: %s |" % ", ".join(gdb for gdb, _, _ in rows) in readme
    newest = max(tuple(map(int, python.split(".")[:2])) for _, _, python in rows)
    assert "tested up to %d.%d;" % newest in readme


@pytest.mark.parametrize(
    "page", [ROOT / "CONTRIBUTING.md", *(ROOT / "docs" / "design").glob("*.md")], ids=lambda page: page.stem
)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    for name in re.findall(r"`([\w/]+(?:\.py|/))`", page.read_text("utf-8")):
        inside = name if name.startswith("gdb_etm/") else "gdb_etm/**/" + name
        assert (ROOT / name).exists() or any(ROOT.glob(inside)), name


def test_pages_are_short() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 150
    for page in (GUIDE.parent / "design").glob("*.md"):
        assert len(page.read_text("utf-8").splitlines()) <= 150, page


if __name__ == "__main__":
    replace(blocks(TOUR)[0], demo())
    for each in _SESSIONS:
        replace(each, session(each))
