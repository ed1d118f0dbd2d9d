"""Real GDB sessions: what lies in the working directory decides nothing."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.gdb_session import run_gdb
from tests.gdbui.test_values import DEMO

MODULES = ("argparse", "gdb_etm", "google", "gzip", "importlib", "json", "pyocd", "signal", "struct", "typing")


def test_no_process_imports_from_it(tmp_path: Path) -> None:
    for name in (*MODULES, "sitecustomize", "usercustomize"):
        assert name not in sys.builtin_module_names
        (tmp_path / (name + ".py")).write_text("open('imported', 'w')\nraise SystemExit('%s: imported')\n" % name)
    output = run_gdb(
        [
            "etm connect board:m33 --elf %s" % DEMO,
            "etm start",
            "continue",
            "etm save saved",
            "etm profile --export a.pb.gz",
            "etm disconnect",
            "etm replay saved --elf %s" % DEMO,
            "reverse-stepi",
        ],
        tmp_path,
    )
    assert not (tmp_path / "imported").exists(), output
    assert "written to a.pb.gz (pprof)" in output and "replaying saved from its end" in output, output
    assert "120\t" in output or "121\t" in output, output
