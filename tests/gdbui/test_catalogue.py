"""What GDB is told when it sources gdb_etm, and what that imports.

Evidence: the declarations, and modules that a real GDB has imported; they are counted, since seconds differ.

``python -m tests.gdbui.test_catalogue`` writes the file after a change of the declarations.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import List

from gdb_etm.commands import catalogue
from tests.gdb_session import ROOT, run_gdb

FILE = ROOT / "gdb_etm" / "commands" / "catalogue.json"
OWN = "python print('own', sum(name.startswith('gdb_etm') for name in __import__('sys').modules))"


def own_modules(output: str) -> List[int]:
    """Give each count that was printed."""
    return [int(line.split()[1]) for line in output.splitlines() if line.startswith("own ")]


def test_it_is_what_is_declared() -> None:
    assert FILE.read_text("utf-8") == catalogue.to_json(catalogue.declared())
    assert catalogue.kept() == catalogue.declared()


def test_to_source_it_imports_little(tmp_path: Path) -> None:
    output = run_gdb([OWN, "help etm history", "complete etm hist", OWN, "show etm recovery", OWN], tmp_path)
    begun, helped, used = own_modules(output)
    assert begun == helped < 20 < 200 < used
    assert "Print the instructions that really ran." in output and "etm history" in output
    assert "How far the past's registers and memory are worked out is assumed." in output


if __name__ == "__main__":
    os.chdir(ROOT)
    FILE.write_text(catalogue.to_json(catalogue.declared()), "utf-8")
