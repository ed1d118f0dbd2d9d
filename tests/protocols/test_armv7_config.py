"""Worked by hand and real captures: units' registers, bit by bit.

From IHI 0014Q, 3.5, and IHI 0035B, 3.13.
"""

from __future__ import annotations

from typing import Dict, List

import pytest

from gdb_etm.capture import Core, TraceSource
from gdb_etm.errors import CaptureError
from gdb_etm.protocols.etmv3.config import Etmv3Config
from gdb_etm.protocols.ptm.config import PtmConfig
from gdb_etm.protocols.registry import PROTOCOLS
from gdb_etm.snapshot.reader import read_snapshot
from tests.shared import capture_folder

ETMV3 = {"ETMCR": 0, "ETMTRACEIDR": 0x10, "ETMIDR": 0x4104F250, "ETMCCER": 1 << 28}
PTM = {"ETMCR": 0, "ETMTRACEIDR": 0x10, "ETMIDR": 0x411CF310, "ETMCCER": 1 << 28}


@pytest.mark.parametrize(
    "register, value, fields",
    [
        ("ETMCR", 1 << 1, {"coprocessor": True}),
        ("ETMCR", 1 << 2, {"data_values": True}),
        ("ETMCR", 1 << 3, {"data_addresses": True}),
        ("ETMCR", 1 << 12, {"cycle_accurate": True}),
        ("ETMCR", 1 << 14, {"context_id_bytes": 1}),
        ("ETMCR", 2 << 14, {"context_id_bytes": 2}),
        ("ETMCR", 3 << 14, {"context_id_bytes": 4}),
        ("ETMCR", 1 << 20, {"data_only": True}),
        ("ETMTRACEIDR", 0x7F, {"trace_id": 0x7F}),
        ("ETMIDR", 0x4104F200, {"version": 0, "whole_instructions": True}),
        ("ETMIDR", 0x4100F250, {"whole_instructions": False}),
        ("ETMIDR", 0x4114F250, {"alternative_branches": True}),
        ("ETMCCER", 0, {"gray_timestamps": True}),
        ("ETMCCER", 3 << 28, {"wide_timestamps": True}),
    ],
)
def test_registers_of_etmv3(register: str, value: int, fields: Dict[str, object]) -> None:
    plain = Etmv3Config.from_registers(ETMV3, False)
    assert plain == Etmv3Config(trace_id=0x10, version=5, m_profile=False)
    assert Etmv3Config.from_registers({**ETMV3, register: value}, False) == plain._replace(**fields)


@pytest.mark.parametrize(
    "register, value, fields",
    [
        ("ETMCR", 1 << 12, {"cycle_accurate": True}),
        ("ETMCR", 3 << 14, {"context_id_bytes": 4}),
        ("ETMCR", 1 << 29, {"return_stack": True}),
        ("ETMTRACEIDR", 1, {"trace_id": 1}),
        ("ETMIDR", 0x411CF300, {"version": 0}),
        ("ETMCCER", 0, {"gray_timestamps": True}),
        ("ETMCCER", 3 << 28, {"wide_timestamps": True}),
        ("ETMCCER", 1 << 28 | 1 << 24, {"barriers": True}),
    ],
)
def test_registers_of_ptm(register: str, value: int, fields: Dict[str, object]) -> None:
    plain = PtmConfig.from_registers(PTM)
    assert plain == PtmConfig(trace_id=0x10, version=1)
    assert PtmConfig.from_registers({**PTM, register: value}) == plain._replace(**fields)


@pytest.mark.parametrize("protocol, registers", [("etmv3", ETMV3), ("ptm", PTM)])
def test_a_missing_register_is_named(protocol: str, registers: Dict[str, int]) -> None:
    for name in registers:
        some = {one: value for one, value in registers.items() if one != name}
        with pytest.raises(CaptureError, match=name):
            PROTOCOLS[protocol].config(TraceSource("ETM_0", protocol, some, None, ()))


def test_the_core_tells_the_profile() -> None:
    for core, m_profile in (("Cortex-M4", True), ("Cortex-R4", False), ("Cortex-A7", False)):
        source = TraceSource("ETM_0", "etmv3", ETMV3, Core("cpu_0", core, {}), ())
        assert Etmv3Config.from_source(source).m_profile is m_profile


@pytest.mark.parametrize(
    "name, configs",
    [
        (
            "TC2",
            [
                Etmv3Config(trace_id, 5, False, cycle_accurate=True, wide_timestamps=True)
                for trace_id in (0x10, 0x11, 0x12)
            ]
            + [PtmConfig(trace_id, 1, cycle_accurate=True, wide_timestamps=True) for trace_id in (0x13, 0x14)],
        ),
        ("Snowball", [PtmConfig(trace_id, 0, cycle_accurate=True, gray_timestamps=True) for trace_id in (0x10, 0x11)]),
        ("lpc1769-m3", [Etmv3Config(2, 5, True, alternative_branches=True)]),
    ],
)
def test_units_of_captures(name: str, configs: List[object]) -> None:
    sources = read_snapshot(capture_folder(name))[0].sources
    found = [PROTOCOLS[one.protocol].config(one) for one in sources if one.protocol in ("etmv3", "ptm")]
    assert found == configs
