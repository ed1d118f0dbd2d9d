"""Vectors worked by hand from IHI 0064 H.a, 6.4: encodings."""

from __future__ import annotations

import pytest

from gdb_etm.protocols.etmv4.encode import packets as write
from tests.protocols.etmv4 import rare_packets


def same(data: bytes, expected: str) -> None:
    assert data.hex(" ") == expected


def test_trace_info() -> None:
    # L9090: PLCTL, then INFO, KEY, SPEC and CYCT as far as PLCTL has their bits; INFO's bits L9182.
    same(write.trace_info(), "01 01 00")
    same(write.trace_info(threshold=0), "01 09 01 00")
    same(write.trace_info(threshold=3856, speculation=5), "01 0d 01 05 90 1e")
    same(write.trace_info(conditional=7, loads=True, stores=True, p0_key=4), "01 03 3e 04")
    same(write.trace_info(conditional=2, p0_key=0, speculation=200, threshold=127), "01 0f 05 00 c8 01 7f")


def test_cycle_counts() -> None:
    # L9793: with commit mode 0 a COMMIT section comes before the count, also where the count is unknown.
    same(write.cycle_count_1(5, commits=0), "0e 00 05")
    same(write.cycle_count_1(0xFFFFF, commits=130), "0e 82 01 ff ff 3f")
    same(write.cycle_count_1(None, commits=3), "0f 03")
    same(write.cycle_count_1(None), "0f")
    same(write.cycle_count_1(147), "0e 93 01")
    # L9866: F = 0 is AAAA + 1 commits; F = 1 is MAXSPEC + AAAA - 15.
    same(write.cycle_count_2(9, commits=1, max_speculation=32), "0c 09")
    same(write.cycle_count_2(0, commits=16, max_speculation=32), "0c f0")
    same(write.cycle_count_2(15, commits=17, max_speculation=32), "0d 0f")
    same(write.cycle_count_2(2, commits=32, max_speculation=32), "0d f2")
    same(write.cycle_count_2(2, commits=0, max_speculation=4), "0d b2")
    # L9912.
    same(write.cycle_count_3(3, commits=4), "1f")
    same(write.cycle_count_3(2, commits=1), "12")
    same(write.cycle_count_3(1), "11")


def test_data_synchronisation_markers() -> None:
    # L9957 and L9979.
    same(write.numbered_sync(0) + write.numbered_sync(7), "20 27")
    same(write.unnumbered_sync() + write.unnumbered_sync(4), "28 2c")
    with pytest.raises(ValueError):
        write.unnumbered_sync(5)


def test_the_end_of_speculation() -> None:
    # Commit L10045; Cancel L10080, L10123, L10164; Mispredict L10202.
    same(write.commit(1) + write.commit(128), "2d 01 2d 80 01")
    same(write.cancel_1(1) + write.cancel_1(300, mispredict=True), "2e 01 2f ac 02")
    same(b"".join(write.cancel_2(atoms) for atoms in ("", "E", "EE", "N")), "34 35 36 37")
    same(write.cancel_3(2) + write.cancel_3(5, atom=True), "38 3f")
    same(b"".join(write.mispredict(atoms) for atoms in ("", "E", "EE", "N")), "30 31 32 33")


def test_events() -> None:
    # L10756.
    same(write.event([0]) + write.event([1, 3]) + write.event(range(4)), "71 7a 7f")


def test_contexts() -> None:
    # L12185: C, V, NS, SF, EL; the VMID comes before the Context ID.
    same(rare_packets.context(rare_packets.context_payload(3)), "81 03")
    same(rare_packets.context(rare_packets.context_payload(1, non_secure=True, wide=True)), "81 31")
    ids = {"vmid": b"\x12", "context_id": b"\x01\x02\x03\x04"}
    same(rare_packets.context(rare_packets.context_payload(0, wide=True, **ids)), "81 d0 12 01 02 03 04")
    same(rare_packets.SAME_CONTEXT, "80")


def test_exceptions() -> None:
    # L9515: C, E1, TYPE[4:0], E0; then P and TYPE[9:5]; then an address packet.
    same(rare_packets.exception(0x0E, 1, b"\x90", short=True), "06 1d 90")
    same(rare_packets.exception(0x0E, 2, b"\x95\x01", short=True), "06 5c 95 01")
    same(rare_packets.exception(0x0E, 1, b"\x90"), "06 9d 00 90")
    same(rare_packets.exception(0x208, 1, b"\x90", short=True), "06 91 10 90")
    same(rare_packets.exception(0x03, 2, b"\x96\x02", pending=True, short=True), "06 c6 20 96 02")


def test_q() -> None:
    # L12661: TYPE, the address, the count.
    same(rare_packets.q(None) + rare_packets.q(200), "af ac c8 01")
    same(
        rare_packets.q(3, b"\x91") + rare_packets.q(3, b"\x95\x01") + rare_packets.q(3, b"\x96\x81\x02"),
        "a1 03 a5 01 03 a6 81 02 03",
    )
    same(rare_packets.q(1, b"\x9a\x01\x02\x03\x04"), "aa 01 02 03 04 01")
    same(rare_packets.q(1, b"\x9b\x01\x02\x03\x04"), "ab 01 02 03 04 01")


def test_conditional_instructions() -> None:
    # L10334, L10376, L10417.
    same(rare_packets.conditional_1(3) + rare_packets.conditional_1(300), "6c 03 6c ac 02")
    same(b"".join(map(rare_packets.conditional_2, range(3))), "40 41 42")
    same(rare_packets.conditional_3(0, again=True) + rare_packets.conditional_3(63), "6d 01 6d 7e")
    # L10546: the low three bits of the key with the result; set 0's bit is bit 0 of the header.
    same(rare_packets.result_1([(5, 0x8, True)]), "6f 58")
    same(rare_packets.result_1([(300, 0x1, False)]), "6e c1 25")
    same(rare_packets.result_1([(1, 4, True), (10, 2, False)]), "69 14 a2 01")
    # L10641, L10679, L10715.
    same(write.result_2(False, 2) + write.result_2(True, 0), "4a 4c")
    same(rare_packets.result_3(0xABC) + rare_packets.result_4(1), "5a bc 45")
