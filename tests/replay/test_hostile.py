"""Property tests with real pyOCD on m33: hostile and damaged clients.

``scripts/fuzz`` runs more of them.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Dict, Iterator, List

import pytest
from hypothesis import given, settings

from gdb_etm.access.client import start
from gdb_etm.access.process import server_arguments
from gdb_etm.errors import EtmError
from tests.replay import hostile

pytest.importorskip("unicorn")


@pytest.fixture(scope="module", autouse=True)
def process() -> Iterator[None]:
    yield
    hostile.end_process()


@settings(max_examples=60)
@given(hostile.SPEECH)
def test_a_replay(pieces: List[str]) -> None:
    hostile.check_target(pieces)


@settings(max_examples=60)
@given(hostile.SPEECH, hostile.SPEECH)
def test_a_proxy_between_two(pieces: List[str], replies: List[str]) -> None:
    hostile.check_proxy(pieces, replies)


@settings(max_examples=60)
@given(hostile.SPEECH, hostile.SPEECH)
def test_who_stands_beside_pyocd(pieces: List[str], replies: List[str]) -> None:
    hostile.check_beside(pieces, replies)


@settings(max_examples=60)
@given(hostile.MESSAGES)
def test_the_control_port(lines: List[str]) -> None:
    hostile.check_desk(lines)


@settings(max_examples=10)
@given(hostile.SPEECH)
def test_pyocds_server_behind_our_door(pieces: List[str]) -> None:
    hostile.check_pyocd(pieces)


SOURCE: Dict[str, Any] = {"name": "ETM_0", "protocol": "etmv4", "registers": {}, "core": None}
CAPTURE: Dict[str, Any] = {
    **{"op": "capture", "data": "AAAA", "sources": [SOURCE], "format": "coresight", "end": "WRAPPED", "name": "halt"},
    **{"files": [], "begin": None, "halt": None, "unseen": "", "settings": {}},
}
MALFORMED = [
    ({"sources": [{**SOURCE, "registers": []}]}, "no capture: [] is no object of up to 2048 fields"),
    ({"sources": [{**SOURCE, "core": []}]}, "no capture: a core is its name and its type"),
    ({"sources": [{**SOURCE, "registers": {"TRCCONFIGR": 1e999}}]}, "no capture: inf is no whole number of 64 bits"),
    ({"sources": [{**SOURCE, "name": 5}]}, "no capture: 5 is no text of up to 4096 characters"),
    ({"sources": {}}, "no capture: {} is no list of up to 64"),
    ({"sources": None}, "no capture: None is no list of up to 64"),
    ({"begin_at": 1e999}, "no capture: inf is no whole number of 64 bits"),
    ({"begin_at": -1}, "no capture: -1 is no whole number of 64 bits"),
    ({"data": 7}, "no capture: "),
    ({"data": "\u00e4"}, "no capture: "),
    ({"files": ["a\0b"]}, "no capture: 'a\\x00b' is no text of up to 4096 characters"),
    ({"files": ["x"] * 257}, "is no list of up to 256"),
    ({"end": "NEVER"}, "no capture: the buffer ends in no known way: 'NEVER'"),
    ({"format": []}, "no capture: "),
    ({"halt": [1]}, "no capture: [1] is no object of up to 2048 fields"),
    ({"settings": {"recovery": 1}}, "no capture: 1 is no text of up to 4096 characters"),
    ({"op": "rely", "settings": []}, "no settings: [] is no object of up to 2048 fields"),
    ({"op": "rely", "settings": {"volatile": "x"}}, "no settings: "),
    ({"op": ["rely"]}, "no operation ['rely']; there are "),
    ({"op": "set_breakpoint", "address": 1e999}, '"address" must be a whole number'),
]


def test_a_malformed_message_is_told_and_the_next_is_served() -> None:
    client = start(sys.executable, server_arguments(probe="board:m33"), module="gdb_etm.beside.process")
    try:
        for fields, why in MALFORMED:
            with pytest.raises(EtmError) as caught:
                client.request({**CAPTURE, **fields})
            assert why in str(caught.value), fields
            assert client.request({"op": "past"})["past"] is False
        client.request(CAPTURE)
    finally:
        client.close()


@pytest.mark.parametrize("number", ["1e999", "NaN", "[]", "{}", "true1", '"x"', "9" * 30])
def test_an_id_that_is_none_is_told(number: str) -> None:
    reply = json.loads(hostile.answer(b'{"op": "status", "id": %s}' % number.encode()))
    assert reply["id"] is None and reply["error"]["message"]
