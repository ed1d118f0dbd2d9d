"""Vectors worked by hand from profiles' documents, and wrong files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Dict

import pytest

from gdb_etm.access.port import AccessPort
from gdb_etm.coresight.vendor import Vendor
from gdb_etm.errors import AccessError, CaptureError
from gdb_etm.profiles.library import find, load, own, own_lines, profiles
from gdb_etm.profiles.profile import PartId, ProfileError

BUILT_IN = (
    "efm32hg",
    "imxrt1176",
    "kl25z",
    "lpc4330",
    "lpc812",
    "lpc824",
    "mps2-an505",
    "mps3-an547",
    "nrf5340",
    "ra6m4",
    "rp2350",
    "samd21",
    "samv71",
    "stm32f407",
    "stm32h563",
    "stm32h743",
    "zynq7000",
)
GOOD = """
title = "A chip"
sources = ["its manual"]

[identity]
address = 0x1000
value = 0x12

[[enable]]
address = 0x1004
mask = 0x30
value = 0x20
"""


class Words(AccessPort):
    """A memory space of a few words."""

    name = "words"

    def __init__(self, words: Dict[int, int]) -> None:
        self.words = words

    def read32(self, address: int) -> int:
        """Read a word."""
        if address not in self.words:
            raise AccessError("no word at 0x%x" % address, address)
        return self.words[address]

    def write32(self, address: int, value: int) -> None:
        """Write a word."""
        self.words[address] = value


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in(name: str) -> None:
    profile = load(name)
    assert profile.title and profile.sources and all(profile.sources)
    assert profile.identity is not None or not profile.enables
    # Names of inputs are whole words that are no numbers, as "etm on" needs them.
    assert all(each.isidentifier() for each in profile.inputs)


def test_there_are_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert tuple(profiles()) == BUILT_IN


def test_what_documents_say() -> None:
    """RM0433, 60.5.8: TRACECLKEN is bit 20, D1DBGCKEN 21, D3DBGCKEN 22.

    UM10503: ETBCFG 0 gives the SRAM to the ETB.
    """
    (clock,) = load("stm32h743").enables
    assert (clock.address, clock.mask, clock.value) == (0x5C001004, 7 << 20, 7 << 20)
    (sram,) = load("lpc4330").enables
    assert (sram.address, sram.mask, sram.value) == (0x40043128, 1, 0)
    assert load("zynq7000").funnel_inputs(0xF889D000) == {0xF8804000: 2}
    assert load("stm32f407").no_buffer and load("rp2350").no_buffer


def test_a_chip_is_known_by_its_rom_table() -> None:
    """Black Magic Debug: ST is JEP106 0x020, parts 0x413, 0x450."""
    found = [find(PartId(0x020, part)) for part in (0x413, 0x450, 0x999)]
    assert [None if each is None else each.name for each in found] == ["stm32f407", "stm32h743", None]


def test_micro_trace_buffers() -> None:
    """KL25 19.3.1; UM10601; UM10800; SAM D21 data sheet 10.3; efm32hg322f64.h."""
    places = {name: load(name).mtb for name in BUILT_IN}
    found = {name: address for name, address in places.items() if address is not None}
    places = {"kl25z": 0xF0000000, "lpc812": 0x14000000, "lpc824": 0x5000C000, "samd21": 0x41006000}
    assert found == {**places, "efm32hg": 0xF0040000}


def test_zynq_identity() -> None:
    """UG585: family 0x1b, sub-family 9, manufacturer 0x49; any device, revision."""
    identity = load("zynq7000").identity
    assert identity is not None
    for code in (0x03722093, 0x23727093, 0x1373B093 & ~(0xF << 12) | 0xC << 12):
        family = code >> 21 & 0x7F, code >> 17 & 0xF
        assert ((code ^ identity.value) & identity.mask == 0) == (family == (0x1B, 9))


def test_own_profiles_are_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.etm.toml").write_text(GOOD, "utf-8")
    assert load("mine").title == "A chip" and profiles()["mine"] == "./mine.etm.toml"
    (tmp_path / "elsewhere.toml").write_text(GOOD, "utf-8")
    assert load(str(tmp_path / "elsewhere.toml")).name == "elsewhere"
    with pytest.raises(ProfileError, match='no profile "elsewhere"; there are .*mine.*files NAME.etm.toml'):
        load("elsewhere")


def test_a_name_of_the_package_is_the_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    built_in = load("lpc4330")
    (tmp_path / "lpc4330.etm.toml").write_text(GOOD, "utf-8")
    assert load("lpc4330") == built_in
    assert load("./lpc4330.etm.toml").title == load("lpc4330.etm.toml").title == "A chip"
    assert list(own()) == ["./lpc4330.etm.toml"]


PART = PartId(0x43B, 0x4C9)
OF_THIS_CHIP = GOOD + "\n[part-id]\ndesigner = 0x43B\npart = 0x4C9\n"


def test_what_lies_in_the_working_directory_is_told_and_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.etm.toml").write_text(OF_THIS_CHIP, "utf-8")
    (tmp_path / "other.etm.toml").write_text(GOOD, "utf-8")
    assert find(PART) is None
    assert list(own_lines([PartId(0x020, 0x450)])) == []
    assert list(own_lines([PartId(0x020, 0x450), PART])) == [
        "note: ./mine.etm.toml knows this chip, and is used only when it is named: etm connect --profile mine"
    ]
    (tmp_path / "mine.etm.toml").rename(tmp_path / "rp2350.etm.toml")
    assert list(own_lines([PART]))[0].endswith("etm connect --profile ./rp2350.etm.toml")


NESTED = {
    "lists": "a = " + "[" * 50000,
    "tables": "a = " + "{a=" * 50000,
    "keys": "a." * 5000 + "a = 1",
    "headers": "[" + "a." * 5000 + "a]",
}
HOSTILE = {
    **{kind: text.encode() for kind, text in NESTED.items()},
    "lines": b"a = " + b"[\n" * 5000,
    "text": b"\xff\xfe\x00",
    "long": b"#" * (1 << 20),
    "escapes": b'"\\u001b[2J" = 1',
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_one_line(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.etm.toml").write_bytes(HOSTILE[kind])
    (line,) = own_lines([PART])
    assert "x.etm.toml" in line and line.endswith("; it is passed over") and line.isprintable()
    with pytest.raises(ProfileError, match="x.etm.toml"):
        load("x")


def test_what_is_no_file_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo(tmp_path / "a.etm.toml")
    (tmp_path / "b.etm.toml").mkdir()
    (tmp_path / "c.etm.toml").symlink_to("nowhere")
    (tmp_path / "d.etm.toml").symlink_to("/dev/zero")
    assert [line.partition(": ")[2] for line in own_lines([PART])] == [
        "cannot read ./a.etm.toml: it is a FIFO, not a file; it is passed over",
        "cannot read ./b.etm.toml: it is a directory, not a file; it is passed over",
        "cannot read ./c.etm.toml: No such file or directory; it is passed over",
        "cannot read ./d.etm.toml: it is a device, not a file; it is passed over",
    ]


def test_many_files_and_strange_names_are_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ["p%02d" % number for number in range(20)] + ["\x1b[2J", "a b", "-", ""]:
        (tmp_path / (name + ".etm.toml")).write_text("x")
    lines = list(own_lines([PART]))
    assert len(lines) == 17
    assert lines[-1] == "note: 21 files *.etm.toml in the working directory; only 16 were looked at"


def test_words_of_a_profile_send_nothing_to_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(GOOD.replace("A chip", "A \\u001b[2J\\u202echip"), "utf-8")
    assert load(str(tmp_path / "a.toml")).title == "A ?[2J?chip"


@pytest.mark.parametrize(
    "text, message",
    [
        ("title =", "Invalid value"),
        ("title = 1\nsources = ['x']", "title must be a text"),
        ("title = 'x'", "sources is missing"),
        ("title = 'x'\nsources = []", "sources is empty"),
        ("title = 'x'\nsources = [1]", "sources must be a list of texts"),
        (GOOD + "\ncolour = 3", "enable 1: colour is unknown"),
        ("colour = 3\n" + GOOD, "colour is unknown"),
        (GOOD.replace("0x1004", "0x1002"), "words are at multiples of 4"),
        (GOOD.replace("mask = 0x30", "mask = -1"), "mask must be from 0 to 0xffffffff"),
        (GOOD.replace("mask = 0x30", "mask = true"), "mask must be from 0"),
        (GOOD.replace("[identity]", "[[identity]]"), "identity must be a table"),
        (GOOD.replace("[identity]\naddress = 0x1000\nvalue = 0x12", ""), "might write to another chip"),
        (GOOD + "\n[[funnel-port]]\nfunnel = 0\nport = 8", "port must be from 0 to 7"),
        (GOOD + "\n[inputs]\nx = 256", "x must be from 0 to 255"),
    ],
)
def test_files_that_are_wrong(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(text, "utf-8")
    with pytest.raises(ProfileError, match=message):
        load(str(tmp_path / "a.toml"))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="cannot read .*none.toml: No such file"):
        load(str(tmp_path / "none.toml"))
    (tmp_path / "a.toml").write_bytes(b"title = '\xff'")
    with pytest.raises(ProfileError, match="a.toml: .*utf-8"):
        load(str(tmp_path / "a.toml"))


def test_nothing_is_written_to_another_chip(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(GOOD, "utf-8")
    words = Words({0x1000: 0x13, 0x1004: 0})
    with pytest.raises(CaptureError, match="this is no a: the register at 0x00001000 is 0x00000013"):
        Vendor(words, load(str(tmp_path / "a.toml"))).enable()
    assert words.words[0x1004] == 0


def test_other_bits_stay_and_all_is_put_back(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(GOOD, "utf-8")
    words = Words({0x1000: 0x12, 0x1004: 0x91})
    vendor = Vendor(words, load(str(tmp_path / "a.toml")))
    assert [state.is_right for state in vendor.states()] == [False]
    assert [each.address for each in vendor.enable()] == [0x1004] and words.words[0x1004] == 0xA1
    assert vendor.enable() == [] and [step.value for step in vendor.restoration()] == [0x91]
    words.words[0x1004] |= 0x100
    vendor.release()
    assert words.words[0x1004] == 0x191 and vendor.restoration() == []
