"""The source, read: the contracts in setup.cfg name every room.

Each contract is seen to fail where it is broken.
"""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path
from typing import Dict, Set, Tuple

import pytest

from tests.test_style import ROOT, parse

CONFIG = ConfigParser()
CONFIG.read(ROOT / "setup.cfg")
PREFIX = "importlinter:contract:"

# Contract: the rooms that may do what it forbids to all others.
EXCEPT = {
    "gdb": {"gdbui"},
    "pyocd": {"access", "board"},
    "unicorn": {"board"},
    "board-unknown": {"board"},
}

# Contract: a folder, and what no file there may import.
FORBIDDEN: Dict[str, Tuple[str, str]] = {
    "flow": ("registers", "gdb_etm.views.values"),
    "waist": ("history", "gdb_etm.traceunit.options"),
    "board-alone": ("board", "gdb_etm.coresight.components"),
    "board-unknown": ("session", "gdb_etm.board.options"),
    "encode": ("protocols/ptm", "gdb_etm.protocols.ptm.encode.encoder"),
    "units": ("traceunit/armv7", "gdb_etm.traceunit.etmv4.plan"),
    # Itself, by way of a second file.
    "circles": ("recovery/ssa", "gdb_etm.recovery.ssa.planted_back"),
    "api": ("api", "gdb_etm.commands.registry"),
    "recovery": ("recovery/lift", "gdb_etm.recovery.solve.solver"),
    "protocols": ("protocols/etmv4", "gdb_etm.protocols.etmv3.packets"),
    "gdb": ("commands", "gdb"),
    "pyocd": ("traceunit", "pyocd"),
    "unicorn": ("recovery", "unicorn"),
    "pure": ("views", "subprocess"),
}


def rooms() -> Set[str]:
    """Return the names of the package's folders and top modules."""
    children = (ROOT / "gdb_etm").iterdir()
    names = {path.stem for path in children if path.suffix == ".py" or (path / "__init__.py").exists()}
    return names - {"__init__"}


def module(folder: str, contract: str) -> str:
    """Return the name of the file that breaks a contract."""
    return "gdb_etm.%s.planted_%s" % (folder.replace("/", "."), contract.replace("-", "_"))


@pytest.mark.parametrize("contract", EXCEPT)
def test_contract_names_every_room(contract: str) -> None:
    named = CONFIG[PREFIX + contract]["source_modules"].split()
    assert {name.replace("gdb_etm.", "", 1) for name in named} == rooms() - EXCEPT[contract]


def test_each_contract_fails_when_it_is_broken(tmp_path: Path) -> None:
    contracts = {name[len(PREFIX) :] for name in CONFIG.sections() if name.startswith(PREFIX)}
    assert contracts == set(FORBIDDEN)
    shutil.copytree(ROOT / "gdb_etm", tmp_path / "gdb_etm", ignore=lambda _, names: set(names) & {"__pycache__"})
    shutil.copy(ROOT / "setup.cfg", tmp_path)
    for contract, (folder, imported) in FORBIDDEN.items():
        path = tmp_path.joinpath(*module(folder, contract).split(".")).with_suffix(".py")
        path.write_text("import %s\n" % imported)
    (tmp_path / "gdb_etm/recovery/ssa/planted_back.py").write_text("import gdb_etm.recovery.ssa.planted_circles\n")
    program = Path(sys.executable).with_name("lint-imports")
    run = subprocess.run(
        [str(program), "--no-logo", "--no-cache"], cwd=tmp_path, stdout=subprocess.PIPE, universal_newlines=True
    )
    # A contract's part of the report begins with its name, underlined.
    report = " ".join(run.stdout.replace("-\n", "\n").split("Broken contracts")[1].split())
    at = {contract: report.index(" ".join(CONFIG[PREFIX + contract]["name"].split())) for contract in FORBIDDEN}
    ends = sorted(at.values()) + [len(report)]
    for contract, (folder, _) in FORBIDDEN.items():
        part = report[at[contract] : ends[ends.index(at[contract]) + 1]]
        assert module(folder, contract).replace("gdb_etm.recovery.ssa", "") in part, contract


def test_pure_rooms_open_nothing() -> None:
    calls = []
    for name in CONFIG[PREFIX + "pure"]["source_modules"].split():
        path = ROOT / name.replace(".", "/")
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path.with_suffix(".py")]:
            for node in ast.walk(parse(str(file.relative_to(ROOT)))):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    calls += [(str(file), node.lineno)] * (node.func.id in ("open", "input", "print", "__import__"))
    assert not calls
