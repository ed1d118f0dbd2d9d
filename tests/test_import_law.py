"""The source, read: the contracts in setup.cfg name every room, so that a new one cannot slip past them."""

from __future__ import annotations

from configparser import ConfigParser
from typing import Set

import pytest

from tests.test_style import ROOT

CONFIG = ConfigParser()
CONFIG.read(ROOT / "setup.cfg")

# Contract: the rooms that may do what it forbids to all others.
EXCEPT = {
    "gdb": {"gdbui"},
    "pyocd": {"access", "board"},
    "unicorn": {"board"},
    "board-unknown": {"board"},
}


def rooms() -> Set[str]:
    """Return the names of the package's folders and top modules."""
    children = (ROOT / "gdb_etm").iterdir()
    names = {path.stem for path in children if path.suffix == ".py" or (path / "__init__.py").exists()}
    return names - {"__init__"}


@pytest.mark.parametrize("contract", EXCEPT)
def test_contract_names_every_room(contract: str) -> None:
    named = CONFIG["importlinter:contract:" + contract]["source_modules"].split()
    assert {name.replace("gdb_etm.", "", 1) for name in named} == rooms() - EXCEPT[contract]
