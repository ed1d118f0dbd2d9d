"""Worked by hand: what whoever listens at a port may say first."""

from __future__ import annotations

import json
from typing import Any, Dict

import pytest

from gdb_etm.access.wire import PROTOCOL, Hello, decode_line, parse_hello
from gdb_etm.errors import ConnectError


def said(**changes: Any) -> Hello:
    """Read a hello with some fields changed."""
    fields: Dict[str, Any] = {
        **{"protocol": PROTOCOL, "pyocd": "0.46", "probe": "probe", "probe_uid": "", "target": "cortex_m"},
        **{"gdb_server": "/run/user/1000/gdb_etm-x/gdb", "core": 0, "running": False, "reverse": False},
        "cores": [{"number": 0, "name": "Cortex-M33", "cpuid": 0x411FD210, "ap": 0}],
        "aps": [{"id": 0, "name": "AHB-AP 0", "idr": 1, "rom": 0xE00FF000, "has_rom": True}],
        "warnings": [],
    }
    return parse_hello(decode_line(json.dumps({"hello": {**fields, **changes}}).encode()))


@pytest.mark.parametrize("where", ["/tmp/gdb_etm-x/gdb", "localhost:3333", ""])
def test_where_gdbs_server_is(where: str) -> None:
    assert said(gdb_server=where).gdb_server == where


@pytest.mark.parametrize(
    "where", ["| touch it_ran", " |x", "!x", "localhost:1\n!x", "localhost:x", "other:1", "gdb", 3333]
)
def test_it_is_no_program(where: Any) -> None:
    with pytest.raises(ConnectError, match="bad hello from the process beside GDB: ") as caught:
        said(gdb_server=where)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "changes",
    [{"core": 1}, {"core": "0"}, {"cores": []}, {"cores": [{}]}, {"cores": 7}, {"aps": [[]]}, {"pyocd": None}],
)
def test_what_is_missing_or_of_another_kind(changes: Dict[str, Any]) -> None:
    with pytest.raises(ConnectError, match="bad hello from the process beside GDB: "):
        said(**changes)


def test_its_texts_are_one_line() -> None:
    found = said(probe="a\n\x1b[2J", warnings=["b\nc"])
    assert (found.probe, found.warnings) == ("a??[2J", ("b?c",))
