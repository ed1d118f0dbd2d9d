"""Vectors worked by hand, property test: register pages.

From the programming map; with ../shared, every row of IHI 0064's register tables. Fields are encoded and decoded.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Dict, Iterator, List, Tuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gdb_etm.registers import (
    coresight,
    cortex_m,
    cti,
    dwt,
    etb,
    etmv3,
    etmv3_comparators,
    etmv3_id,
    etmv3_page,
    etmv4,
    etmv4_comparators,
    etmv4_id,
    funnel,
    ptm,
    tmc,
)
from gdb_etm.registers.etmv4_page import PAGE
from gdb_etm.registers.page import BitStruct, Register, bits, ones, reserved

MAP = Path(__file__).resolve().parents[3] / "shared" / "spec" / "programming-map.md"
ALL_PAGES = [
    PAGE,
    etmv3_page.PAGE,
    ptm.PAGE,
    coresight.PAGE,
    tmc.PAGE,
    etb.PAGE,
    funnel.PAGE,
    cti.PAGE,
    cortex_m.PAGE,
    dwt.PAGE,
]
ALL_REGISTERS = [register for page in ALL_PAGES for register in page]

# Fields of the identification values of a Cortex-M33 and a Cortex-A53 (L15955 and on).
M33_IDR0 = {
    "COMMOPT": 1,
    "TSSIZE": 8,
    "TSMARK": 0,
    "BF": 0,
    "TRCEXDATA": 0,
    "QSUPP": 0,
    "QFILT": 0,
    "CONDTYPE": 0,
    "NUMEVENT": 1,
    "RETSTACK": 1,
    "TRCCCI": 1,
    "TRCCOND": 1,
    "TRCBB": 1,
    "TRCDATA": 0,
    "INSTP0": 0,
}
M33_IDR3 = {
    "NOOVERFLOW": 0,
    "NUMPROC_LOW": 0,
    "SYSSTALL": 1,
    "STALLCTL": 1,
    "SYNCPR": 1,
    "TRCERR": 1,
    "EXLEVEL_NS": 0,
    "EXLEVEL_S": 9,
    "NUMPROC_HIGH": 0,
    "CCITMIN": 4,
}
M33_IDR4 = {
    "NUMVMIDC": 0,
    "NUMCIDC": 0,
    "NUMSSCC": 1,
    "NUMRSPAIR": 1,
    "NUMPC": 4,
    "SUPPDAC": 0,
    "NUMDVC": 0,
    "NUMACPAIRS": 0,
}
M33_IDR5 = {
    "REDFUNCNTR": 1,
    "NUMCNTR": 1,
    "NUMSEQSTATE": 0,
    "LPOVERRIDE": 1,
    "ATBTRIG": 1,
    "TRACEIDSIZE": 7,
    "NUMEXTINSEL": 0,
    "NUMEXTIN": 4,
}
A53_IDR2 = {"WFXMODE": 0, "VMIDOPT": 0, "CCSIZE": 0, "DVSIZE": 0, "DASIZE": 0, "VMIDSIZE": 1, "CIDSIZE": 4, "IASIZE": 8}


# Identification values of real units: an ETM-M4 (programming map L790) and the units of the TC2 and Snowball captures.
M4_CCR = {
    "IDR": 1,
    "SoftwareAccess": 1,
    "StartStop": 1,
    "CIDComps": 0,
    "FIFOFULL": 1,
    "ExtOut": 0,
    "ExtIn": 0,
    "Sequencer": 0,
    "Counters": 1,
    "MMDs": 0,
    "DataComps": 0,
    "AddrPairs": 0,
}
M4_IDR = {
    "Designer": 0x41,
    "BranchEncoding": 1,
    "Security": 0,
    "Thumb32": 1,
    "LoadPCFirst": 0,
    "Core": 15,
    "Major": 2,
    "Minor": 5,
    "Revision": 0,
}
M4_CCER = {
    "Timestamp64": 0,
    "TimestampBinary": 1,
    "ReducedCounter": 1,
    "Virtualization": 0,
    "Timestamp": 1,
    "EIBCR": 0,
    "WatchStartStop": 1,
    "WatchInputs": 4,
    "Instrumentation": 0,
    "NoDataComp": 1,
    "Readable": 1,
    "ExtInBus": 0,
    "ExtInSel": 0,
}
A9_CCR = {
    "IDR": 1,
    "SoftwareAccess": 1,
    "StartStop": 1,
    "CIDComps": 1,
    "FIFOFULL": 0,
    "ExtOut": 2,
    "ExtIn": 4,
    "Sequencer": 1,
    "Counters": 2,
    "AddrPairs": 4,
}
DWT_CTRL = {
    "NUMCOMP": 4,
    "NOTRCPKT": 1,
    "NOEXTTRIG": 0,
    "NOCYCCNT": 1,
    "NOPRFCNT": 0,
    "CYCCNTENA": 1,
}
A15_CCER = {
    "Timestamp64": 1,
    "TimestampBinary": 1,
    "ReducedCounter": 0,
    "Virtualization": 1,
    "BarrierTimestamp": 0,
    "BarrierWaypoint": 0,
    "ReturnStack": 1,
    "Timestamp": 1,
    "EIBCR": 0,
    "WatchStartStop": 0,
    "WatchInputs": 0,
    "Instrumentation": 0,
    "Readable": 1,
    "ExtInBus": 88,
    "ExtInSel": 2,
}


@pytest.mark.parametrize(
    "register, value, fields",
    [
        (etmv3.ETMCCR, 0x8C802000, M4_CCR),
        (etmv3_id.ETMIDR, 0x4114F250, M4_IDR),
        (etmv3_id.ETMCCER, 0x18541800, M4_CCER),
        (ptm.ETMCCR, 0x8D294004, A9_CCR),  # DDI 0401, table 2.4
        (ptm.ETMCCER, 0x34C01AC2, A15_CCER),
        (etmv3_id.ETMOSLSR, 0xA, {"Model1": 1, "nTT": 0, "Locked": 1, "Model0": 0}),
        (dwt.DWT_CTRL, 0x4A000001, DWT_CTRL),  # DDI 0403E, C1.8.7
        (etmv4_id.TRCIDR0, 0x280006E1, M33_IDR0),
        (etmv4_id.TRCIDR1, 0x4100F421, {"DESIGNER": 0x41, "TRCARCHMAJ": 4, "TRCARCHMIN": 2, "REVISION": 1}),
        (etmv4_id.TRCIDR2, 0x00000488, A53_IDR2),
        (etmv4_id.TRCIDR3, 0x0F090004, M33_IDR3),
        (etmv4_id.TRCIDR4, 0x00114000, M33_IDR4),
        (etmv4_id.TRCIDR5, 0x90C70004, M33_IDR5),
        (etmv4_id.TRCDEVARCH, 0x47724A13, {"ARCHITECT": 0x23B, "PRESENT": 1, "REVISION": 2, "ARCHID": 0x4A13}),
        (etmv4_id.TRCOSLSR, 0xA, {"OSLM_1": 1, "nTT": 0, "OSLK": 1, "OSLM_0": 0}),  # L17140
        (etmv4.TRCSEQEVR[2], 0x1400, {"B": 0x14, "F": 0}),  # AT-08, L17635
        (etmv4.TRCSEQEVR[1], 0x0012, {"B": 0, "F": 0x12}),  # AT-08, L17637
        (etmv4.TRCRSCTLR[2], 0x00340020, {"PAIRINV": 1, "INV": 1, "GROUP": 4, "SELECT": 0x20}),  # AT-05, L20133
        (etmv4_comparators.TRCCIDCCTLR0, 1 << 3, {"COMP3": 0, "COMP2": 0, "COMP1": 0, "COMP0": 8}),  # AT-12, L15101
        (etmv4_comparators.TRCCIDCCTLR0, 1 << 12, {"COMP3": 0, "COMP2": 0, "COMP1": 0x10, "COMP0": 0}),  # L15108
        (etmv4_comparators.TRCCIDCCTLR0, 1 << 30, {"COMP3": 0x40, "COMP2": 0, "COMP1": 0, "COMP0": 0}),  # L15122
        (coresight.CIDR1, 0x90, {"CLASS": 9, "PRMBL_1": 0}),  # L15237
    ],
)
def test_decode(register: Register, value: int, fields: Dict[str, int]) -> None:
    assert register.decode(value) == fields


@pytest.mark.parametrize(
    "register, fields, value",
    [
        (etmv4.TRCCONFIGR, {"RS": 1, "TS": 1, "VMID": 1, "CID": 1}, 0x000018C1),  # AT-01, L6528
        (
            etmv4.TRCCONFIGR,
            {"DV": 1, "DA": 1, "RS": 1, "TS": 1, "COND": 7, "VMID": 1, "CID": 1, "INSTP0": 3},
            0x00031FC7,
        ),  # AT-02, L6553
        (etmv4.TRCVICTLR, {"SSSTATUS": 1, "EVENT": 1}, 0x201),  # L6541
        (etmv4.TRCRSCTLR[2], {"GROUP": 3, "SELECT": 1}, 0x00030001),  # AT-03, L6582
        (etmv4.TRCEVENTCTL1R, {"ATB": 1, "INSTEN": 1}, 0x00000801),  # AT-24, L15885
        (etmv4.TRCCNTCTLR[0], {"RLDSELF": 1, "CNTEVENT": 2}, 0x00010002),  # AT-06, L6482
        (etmv4_comparators.TRCACATR[0], {"DATASIZE": 2, "DATAMATCH": 1, "TYPE": 1}, 0x00090001),  # AT-55
        # Trace of everything (programming map L788): TRUE is 0x6F, FALSE 0x406F (L786); exclude nothing.
        (etmv3.ETMTEEVR, {"A": 0x6F}, etmv3.EVENT_TRUE),
        (etmv3.ETMTEEVR, {"A": 0x6F, "Function": etmv3.FUNCTION_NOT_A}, etmv3.EVENT_FALSE),
        (etmv3.ETMTECR1, {"Exclude": 1}, 0x01000000),
        (ptm.ETMTECR1, {"Exclude": 1}, 0x01000000),
        (etmv3.ETMVDCR3, {"ExcludeOnly": 1}, 0x10000),
        (etmv3.ETMCR, {"PowerDown": 1, "PortSize": 1, "Prog": 1}, 0x411),  # reset value (L790)
        (etmv3.ETMCR, {"Timestamp": 1, "CycleAccurate": 1, "ETMEN": 1, "PortSize": 6}, 0x10001860),  # TC2
        (ptm.ETMCR, {"Timestamp": 1, "CycleAccurate": 1}, 0x10001000),  # TC2, Snowball
        (etmv3_comparators.ETMACTR[1], {"Type": 1, "Size": 3}, 0x19),
        (tmc.FFCR, {"EnFt": 1, "EnTI": 1, "FOnFlIn": 1, "FOnTrigEvt": 1, "TrigOnTrigIn": 1}, 0x133),
        (tmc.FFCR, {"StopOnFl": 1, "FlushMan": 1}, 0x1040),
        (etb.FFCR, {"EnFTC": 1, "EnFCont": 1, "FOnMan": 1, "StopFl": 1}, 0x1043),
        (cortex_m.DEMCR, {"TRCENA": 1}, 1 << 24),
        (cortex_m.SHCSR, {"USGFAULTENA": 1, "BUSFAULTENA": 1, "MEMFAULTENA": 1}, 7 << 16),
        (cortex_m.SHCSR, {"HARDFAULTPENDED": 1, "SVCALLACT": 1, "MEMFAULTACT": 1}, 1 << 21 | 1 << 7 | 1),
        (cortex_m.HFSR, {"FORCED": 1, "VECTTBL": 1}, 1 << 30 | 2),
        (cortex_m.DFSR, {"VCATCH": 1}, 8),
        (cortex_m.SFSR, {"SFARVALID": 1, "AUVIOL": 1}, 0x48),
    ],
)
def test_encode(register: Register, fields: Dict[str, int], value: int) -> None:
    assert register.encode(**fields) == value


@given(st.data())
def test_round_trip(data: st.DataObject) -> None:
    register = data.draw(st.sampled_from(ALL_REGISTERS))
    fields = data.draw(
        st.fixed_dictionaries({name: st.integers(0, (1 << field.width) - 1) for name, field in register.fields.items()})
    )
    value = register.encode(**fields)
    assert register.decode(value) == fields
    assert all(register.get(value, name) == fields[name] for name in fields)
    assert value & ~register.mask == register.encode()


def test_offsets_are_claimed_once() -> None:
    for page in ALL_PAGES:
        assert len(page.by_offset) == len(page.by_name), page.title


def test_refusals() -> None:
    with pytest.raises(ValueError, match="TRCSYNCPR.PERIOD is 5 bits wide, 0x20 does not fit"):
        etmv4.TRCSYNCPR.encode(PERIOD=32)
    with pytest.raises(ValueError, match="TRCSYNCPR has no field BYTES"):
        etmv4.TRCSYNCPR.encode(BYTES=1)
    with pytest.raises(ValueError, match="TRCSYNCPR is 32 bits wide"):
        etmv4.TRCSYNCPR.decode(1 << 32)
    with pytest.raises(ValueError, match="add up to 24 bits"):
        Register("SHORT", 0, "RW", BitStruct(reserved(16), "A" / bits(8)))
    with pytest.raises(ValueError, match="two fields A"):
        Register("TWICE", 0, "RW", BitStruct("A" / bits(16), "A" / bits(16)))
    with pytest.raises(IndexError, match="there is no TRCRSCTLR1"):
        etmv4.TRCRSCTLR[1]
    with pytest.raises(IndexError, match="there is no ETMACVR0"):
        etmv3_comparators.ETMACVR[0]


def test_res1_bits() -> None:
    register = Register("R", 0, "RW", BitStruct(reserved(29), ones(2), "A" / bits(1)))
    assert register.encode() == 6 and register.decode(1) == {"A": 1}


@pytest.fixture(scope="module", name="map_rows")
def fixture_map_rows() -> List[Tuple[str, str, str]]:
    if not MAP.exists():
        pytest.skip("../shared/spec/programming-map.md is not there")
    section = MAP.read_text().split("## 1. Register catalogue")[1].split("## 2. Feature discovery")[0]
    return [
        (row[1], row[2], row[5] if len(row) > 8 else row[4])
        for row in (line.split(" | ") for line in section.replace("| TRC", " | TRC").splitlines())
        if len(row) > 5 and row[1].startswith("TRC")
    ]


def _expanded(name: str, offset: str) -> Iterator[Tuple[str, int]]:
    """Read a row's name and offset.

    Such as ``TRCACVRn``/``0x400+8n (64-bit)``, ``TRCIDR8 / 9``/``0x180 / 184``.
    """
    array = re.match(r"(0x\w+)\+(0x10|\d+)n", offset)
    if array and name.endswith("n"):
        yield name[:-1] + "2", int(array[1], 16) + int(array[2], 0) * 2
        return
    numbers = [int(text, 16) for text in re.findall(r"(?:0x)?([0-9A-F]{3})\b", offset)]
    first, *others = name.replace("TRCEVENTCTL0R / 1R", "TRCEVENTCTL0R").split(" / ")
    stem = re.sub(r"\d+$", "", first)
    yield from zip([first] + [stem + other for other in others], numbers)


def test_offsets_of_the_programming_map(map_rows: List[Tuple[str, str, str]]) -> None:
    found = [
        pair
        for name, offset, _ in map_rows
        if "-" not in name and ".." not in name and "0/1" not in name
        for pair in _expanded(name, offset)
    ]
    assert len(found) >= 68
    assert [(name, PAGE.by_name[name].offset) for name, _ in found] == found


def test_fields_of_the_programming_map(map_rows: List[Tuple[str, str, str]]) -> None:
    checked = 0
    for name, _, text in map_rows:
        register = PAGE.by_name.get(re.sub("n$", "2", name))
        if register is None or name == "TRCCLAIMSET":
            continue
        for field, high, low in re.findall(r"\b([A-Za-z_]\w*)\[(\d+)(?::(\d+))?\]", text):
            if field in register.fields:
                place = register.fields[field]
                assert (place.low + place.width - 1, place.low) == (int(high), int(low or high)), (name, field)
                checked += 1
    assert checked > 70


@pytest.fixture(scope="module", name="older_rows")
def fixture_older_rows() -> Dict[str, str]:
    """Offset and fields by register, of the map's 6.1 (ETMv3)."""
    if not MAP.exists():
        pytest.skip("../shared/spec/programming-map.md is not there")
    section = MAP.read_text().split("### 6.1 ETMv3")[1].split("### 6.2 PTM")[0].replace("**", "")
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ETM") and "0x" in line]
    return {row[0]: " | ".join(row[1:]) for row in rows}


def test_offsets_of_older_units(older_rows: Dict[str, str]) -> None:
    page = etmv3_page.PAGE
    single = {
        name: int(text.split(" ")[0], 16)
        for name, text in older_rows.items()
        if re.fullmatch(r"ETM\w+[A-Z]\d?", name) and re.match(r"0x\w+ \|", text)
    }
    assert len(single) >= 12
    for name, offset in single.items():
        assert page.by_name[name].offset == offset, name
    grouped = {
        "ETMFFRR": 0x28,
        "ETMFFLR": 0x2C,
        "ETMVDEVR": 0x30,
        "ETMVDCR1": 0x34,
        "ETMVDCR3": 0x3C,
        "ETMACVR1": 0x40,
        "ETMACVR16": 0x7C,
        "ETMACTR1": 0x80,
        "ETMDCVR8": 0xF8,
        "ETMDCMR1": 0x100,
        "ETMCNTRLDVR1": 0x140,
        "ETMCNTENR1": 0x150,
        "ETMCNTRLDEVR1": 0x160,
        "ETMCNTVR4": 0x17C,
        "ETMSQ12EVR": 0x180,
        "ETMSQ21EVR": 0x184,
        "ETMSQ23EVR": 0x188,
        "ETMSQ31EVR": 0x18C,
        "ETMSQ32EVR": 0x190,
        "ETMSQ13EVR": 0x194,
        "ETMSQR": 0x19C,
        "ETMEXTOUTEVR1": 0x1A0,
        "ETMCIDCVR3": 0x1B8,
        "ETMCIDCMR": 0x1BC,
        "ETMEXTINSELR": 0x1EC,
        "ETMTESSEICR": 0x1F0,
        "ETMEIBCR": 0x1F4,
        "ETMTSEVR": 0x1F8,
        "ETMAUXCR": 0x1FC,
        "ETMTRACEIDR": 0x200,
        "ETMIDR2": 0x208,
        "ETMVMIDCVR": 0x240,
        "ETMOSLAR": 0x300,
        "ETMOSLSR": 0x304,
        "ETMOSSRR": 0x308,
        "ETMPDCR": 0x310,
        "ETMPDSR": 0x314,
        "ETMLAR": 0xFB0,
        "ETMLSR": 0xFB4,
    }
    assert {name: page.by_name[name].offset for name in grouped} == grouped
    shared = [name for name in grouped if name in ptm.PAGE.by_name]
    assert len(shared) > 20 and all(ptm.PAGE.by_name[name].offset == grouped[name] for name in shared)


def test_fields_of_older_units(older_rows: Dict[str, str]) -> None:
    """Every field of the map that we name is there."""
    checked = 0
    for row, text in older_rows.items():
        for register in (etmv3_page.PAGE.by_name.get(row), ptm.PAGE.by_name.get(row)):
            for field, high, low in re.findall(r"\b([A-Za-z]\w*)\[(\d+)(?::(\d+))?\]", text) if register else ():
                place = register.fields.get(field) if register else None
                if place is not None:
                    assert (place.low + place.width - 1, place.low) == (int(high), int(low or high)), (row, field)
                    checked += 1
    assert checked >= 35
