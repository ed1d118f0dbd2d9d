"""Real pyOCD: the tests of the guide, run by pytest."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Tuple

import pytest
from junitparser import JUnitXml

from tests.pages import blocks
from tests.unattended.test_page import PAGE, script_block

pytest.importorskip("unicorn")
_FOLDER = Path(__file__).resolve().parents[2] / "gdb_etm" / "board" / "firmware" / "demo"


def run(folder: Path, *words: str) -> Tuple[int, str]:
    """Run pytest in a folder, without this project's configuration."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "pytest.ini", *words]
    done = subprocess.run(command, stdout=subprocess.PIPE, cwd=folder, text=True, timeout=240, check=False)
    return done.returncode, done.stdout


def test_the_page_s_tests(tmp_path: Path) -> None:
    for path in [*_FOLDER.glob("*.[ch]"), _FOLDER / "demo.elf"]:
        shutil.copy(path, tmp_path)
    (block,) = [block for block in blocks(PAGE) if block.language == "python"]
    (tmp_path / "test_receiver.py").write_text(block.text)
    (tmp_path / "receiver.toml").write_text(script_block().text)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    status, printed = run(tmp_path, "--etm-output", "out", "--junit-xml", "j.xml")
    assert status == 1
    (suite,) = JUnitXml.fromfile(str(tmp_path / "j.xml"))
    assert [bool(case.result) for case in suite] == [False, True, True]
    assert "failed: instructions of parse: at most 160: 176 instructions in run 1, #2,707 rx.c:97" in printed
    assert "failed: order of calls: dispatch, rx_start: rx_start before dispatch" in printed
    assert "cycles are counted at least 4 apart" in printed
    for name in ("test_parsing_is_quick", "test_the_whole_script"):
        assert (tmp_path / "out" / name / "index.html").exists() and (tmp_path / "out" / name / "snapshot").is_dir()
    assert not (tmp_path / "out" / "test_a_sentence_is_dispatched").exists()


def test_without_a_script_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "test_none.py").write_text("def test_none(etm_session):\n    pass\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    status, printed = run(tmp_path)
    assert status == 1 and 'no script: @pytest.mark.etm("SCRIPT.toml"), or etm_script in the configuration' in printed
    (tmp_path / "pytest.ini").write_text("[pytest]\netm_script = nothing.toml\n")
    status, printed = run(tmp_path)
    assert status == 1 and "nothing.toml: No such file or directory" in printed


def test_a_check_before_a_run_does_not_pass(tmp_path: Path) -> None:
    shutil.copy(_FOLDER / "demo.elf", tmp_path)
    (tmp_path / "test_early.py").write_text("def test_early(etm_session):\n    etm_session.check(fault=False)\n")
    (tmp_path / "early.toml").write_text('[target]\nconnect = "board:m33"\nelf = ["demo.elf"]\n')
    (tmp_path / "pytest.ini").write_text("[pytest]\netm_script = early.toml\n")
    status, printed = run(tmp_path)
    assert status == 1 and "check: nothing has run yet; etm_session.run() comes before" in printed
