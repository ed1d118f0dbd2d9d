"""Vectors worked by hand from the specification (IHI 0064 H.a, 6.4; lines are those of its text in ../shared/spec)."""

from __future__ import annotations

import pytest

from gdb_etm.protocols.etmv4 import encodings as write


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
