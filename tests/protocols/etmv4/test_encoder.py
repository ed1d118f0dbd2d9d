"""Vectors worked by hand from IHI 0064 H.a, 6.4: the encoder."""

from __future__ import annotations

from typing import List, Optional, Sequence, Tuple

import pytest

from gdb_etm.protocols.etmv4.encode.config import EncoderConfig
from gdb_etm.protocols.etmv4.encode.encoder import Encoder
from gdb_etm.protocols.etmv4.encode.path import NO_EXECUTION
from gdb_etm.protocols.etmv4.encode.writer import PacketWriter, exception_type

A_SYNC = "00 00 00 00 00 00 00 00 00 00 00 80"
START = A_SYNC + " 01 01 00 "

# 1000 movs r0, #0 | 1002 beq 1000 | 1004 bl 1010 | 1008 bx r3 | 100a nop | 100c isb | 1010 bx lr | 1012 b 1000
CODE = bytes.fromhex("0020 fdd0 00f0 04f8 1847 00bf bff3 6f8f 7047 f5e7".replace(" ", ""))


def read_code(address: int) -> bytes:
    return CODE[address - 0x1000 : address - 0x1000 + 4]


def encoder(out: bytearray, config: EncoderConfig = EncoderConfig(), handler: bool = False) -> Encoder:
    unit = Encoder(config, read_code, out.extend, handler)
    unit.enable()
    return unit


def writer(out: bytearray) -> PacketWriter:
    return PacketWriter(out.extend)


def text(data: bytes) -> str:
    return data.hex(" ")


def atoms(pattern: str) -> str:
    out = bytearray()
    packets = writer(out)
    for atom in pattern:
        packets.atom(atom == "E")
    packets.flush_atoms()
    packets.deliver()
    return text(out)


@pytest.mark.parametrize(
    "pattern, expected",
    [
        # Format 1, L12384; Format 2, L12415; Format 3, L12445: the oldest atom in bit 0.
        ("N", "f6"),
        ("E", "f7"),
        ("EN", "d9"),
        ("NE", "da"),
        ("NEE", "fe"),
        ("NNE", "fc"),
        # Format 4, L12523: four fixed patterns.
        ("NEEE", "dc"),
        ("NNNN", "dd"),
        ("NENE", "de"),
        ("ENEN", "df"),
        # Format 5, L12617: four fixed patterns.
        ("NEEEE", "f5"),
        ("NNNNN", "d5"),
        ("NENEN", "d6"),
        ("ENENE", "d7"),
        # Format 6, L12653: COUNT + 3 E atoms, then one more, N when bit 5 is set.
        ("EEEE", "c0"),
        ("EEEN", "e0"),
        ("E" * 24, "d4"),
        ("E" * 23 + "N", "f4"),
        # Longer patterns take the packet with most atoms first.
        ("E" * 30, "d4 c2"),
        ("EEENNEN", "e0 fa"),
        ("ENNEEE", "f9 ff"),
    ],
)
def test_atoms(pattern: str, expected: str) -> None:
    assert atoms(pattern) == expected


def addresses(*values: int) -> str:
    out = bytearray()
    packets = writer(out)
    for value in values:
        packets.location(value, None)
    packets.deliver()
    return text(out)


def test_addresses() -> None:
    # Long 32-bit IS1, L11034: bits 7:1 in the low bits of the first byte.
    assert addresses(0x12341000) == "9b 00 10 34 12"
    # Short IS1, L10957: bits 7:1, then bits 15:8 as a whole byte.
    assert addresses(0x12341000, 0x123410FE, 0x12342202) == "9b 00 10 34 12 96 7f 96 81 22"
    # Exact Match, L11151, pushes as well, so the same index gives another address each time.
    assert addresses(0x11000000, 0x22000000, 0x33000000, 0x11000000, 0x22000000, 0x22000000).endswith(" 92 92 90")
    # The registers are zero in instruction set 0 after Trace Info, L9194: address 0 in T32 code is no match.
    assert addresses(0) == "96 00"


def test_address_with_context() -> None:
    out = bytearray()
    packets = writer(out)
    packets.location(0x1000032E, 0)
    packets.location(0x10000330, 3)
    packets.deliver()
    # 83 is 32-bit IS1 (L12039); in the information byte only the exception level can be other than 0 (L12185).
    assert text(out) == "83 17 03 00 10 00 81 03 96 18"


@pytest.mark.parametrize(
    "number, expected",
    [(1, 1), (3, 3), (15, 15), (16, 0x10), (23, 0x17), (24, 0x208), (16 + 495, 0x3EF)],
)
def test_exception_types(number: int, expected: int) -> None:
    # L9613: IRQ0 to IRQ7 are 0x10 to 0x17, IRQ8 is 0x208.
    assert exception_type(number) == expected


def test_exceptions() -> None:
    out = bytearray()
    packets = writer(out)
    # E1:E0 = 01, TYPE 0x208 in two bytes (L9559): an address follows as a packet.
    packets.exception(0x208, 0x20001000, known=True)
    # E1:E0 = 10: the address is that of the branch's target too; here with a context.
    packets.exception(0x18, 0x10000330, known=False)
    packets.exception(0x0F, 0x10000330, known=False, level=3)
    packets.exception_return()
    packets.deliver()
    assert text(out) == "06 91 10 9b 00 10 00 20 06 f0 00 9b 18 03 00 10 06 de 00 83 18 03 00 10 03 07"


def test_the_exception_packets_of_a_real_cortex_m33() -> None:
    # rp2350-m33-0 in ../shared/captures: bytes 33 to 46 and, after an indirect branch, 235 to 239.
    out = bytearray()
    packets = writer(out)
    packets.location(0x1000032E, 0)
    packets.exception(0x18, 0x10000330, known=True)
    packets.trace_on()
    packets.location(0x10000330, None)
    packets.location(0x10000EB8, None)
    packets.exception(0x18, 0x10000338, known=False)
    packets.deliver()
    assert text(out) == "83 17 03 00 10 00 06 b1 00 96 18 04 90 96 dc 0e 06 f0 00 96 9c 03"


def test_timestamps() -> None:
    out = bytearray()
    packets = writer(out)
    # L9365: 7 bits a byte, only as far as bits change; the ninth byte has 8; with cycles the header's bit 0 is set.
    for value, cycles in ((170, None), (133, None), (5, 129), (9367411276074617992, None)):
        packets.timestamp(value, cycles)
    packets.deliver()
    assert text(out) == "02 aa 01 02 05 03 85 00 81 01 02 88 99 aa bb cc dd ee ff 81"


def test_cycle_counts() -> None:
    out = bytearray()
    packets = writer(out)
    # Commit mode 1: Format 3 for less than four, L9912; Format 1 without a COMMIT section, L9793; unknown is U = 1.
    for cycles in (0, 3, 4, 147, 0xFFFFF, None):
        packets.cycle_count(cycles)
    packets.deliver()
    assert text(out) == "10 13 0e 04 0e 93 01 0e ff ff 3f 0f"


def test_trace_info_tells_the_threshold() -> None:
    out = bytearray()
    packets = writer(out)
    packets.synchronise(3856)
    packets.deliver()
    # L9090: PLCTL has INFO and CYCT, INFO.cc_enabled is set, CYCT in 7 bits a byte.
    assert text(out) == A_SYNC + " 01 09 01 90 1e"


RUN = [0x1000, 0x1002, 0x1000, 0x1002, 0x1004, 0x1010, 0x1008]


def traced(config: EncoderConfig, run: Sequence[int], halt: Optional[int], handler: bool = False) -> str:
    out = bytearray()
    unit = encoder(out, config, handler)
    unit.instructions(run)
    if halt is not None:
        unit.debug_halt(halt)
    unit.disable()
    whole = text(out)
    assert whole.startswith(START)
    return whole[len(START) :]


def test_a_run_with_return_stack() -> None:
    # Trace On, Context, Address 1000; BEQ E, N; BL E; BX LR E without address (L8167); BX R3 E; debug halt at 1012.
    assert traced(EncoderConfig(return_stack=True), RUN, 0x1012) == "04 81 00 96 80 10 fd db 06 f0 00 96 09"


def test_a_run_without_return_stack() -> None:
    # The same, but the return's target 1008 is told.
    assert traced(EncoderConfig(), RUN, 0x1012) == "04 81 00 96 80 10 fd f7 96 04 f7 06 f0 00 96 09"


def test_the_address_before_an_exception_can_stand_alone() -> None:
    # L4660: an Address packet, then E1:E0 = 01 with the same address, which is an Exact Match.
    config = EncoderConfig(separate_address=True)
    assert traced(config, [0x1008], 0x1012) == "04 81 00 96 84 10 f7 96 09 06 b1 00 90"


def test_branch_broadcast() -> None:
    # L2996: the target of each taken direct branch and of ISB; it goes before the return stack (L15012).
    config = EncoderConfig(return_stack=True, broadcast=lambda address: True)
    assert traced(config, RUN, 0x1012) == "04 81 00 96 80 10 f7 90 da 96 08 f7 96 04 f7 06 f0 00 96 09"


def test_handler_mode_is_exception_level_3() -> None:
    assert traced(EncoderConfig(), [0x1000], 0x1002, handler=True).startswith("04 81 03 96 80 10")


def test_an_interrupt_and_its_return() -> None:
    out = bytearray()
    unit = encoder(out)
    unit.instructions([0x1000])
    unit.exception(16, 0x1002)
    unit.instructions([0x100A, 0x100C, 0x1010])
    unit.exception_return(handler=False)
    unit.instructions([0x1002])
    unit.debug_halt(0x1004)
    # IRQ0 at 1002; handler at 100a in Handler mode; ISB E, BX LR E, Exception Return; 1002 in Thread mode, BEQ N.
    assert text(out)[len(START) :] == ("04 81 00 96 80 10 06 a1 00 96 01 81 03 96 05 db 07 81 00 91 f6 06 b1 00 96 02")


def test_tail_chaining() -> None:
    out = bytearray()
    unit = encoder(out)
    unit.instructions([0x1000])
    unit.exception(16, 0x1002)
    unit.instructions([0x1010])
    unit.exception_return(handler=True)
    unit.exception(15, NO_EXECUTION)
    unit.instructions([0x100A])
    unit.flush()
    # L7236: SysTick's return address is the one that means no execution; its context is not told.
    assert text(out)[len(START) :].endswith("f7 07 06 de 00 9b 7f ff ff ff 9b 05 10 00 00")


def test_lockup() -> None:
    out = bytearray()
    unit = encoder(out)
    unit.instructions([0x1000])
    unit.lockup(0x1002)
    unit.debug_halt(0xEFFFFFFE)
    # L7390: TYPE 0x1A with the address of the instruction that caused it; then the lockup address, where nothing runs.
    assert text(out)[len(START) :] == "04 81 00 96 80 10 06 b5 00 96 01 06 f0 00 9b 7f ff ff ef"


def test_resuming_after_a_halt_is_a_gap() -> None:
    out = bytearray()
    unit = encoder(out)
    unit.instructions([0x1000])
    unit.debug_halt(0x1002)
    out.clear()
    unit.resume(handler=False)
    unit.instructions([0x1002])
    unit.debug_halt(0x1004)
    # Trace On and the address; the context has not changed since it was told (L6797).
    assert text(out).startswith("04 90 f6")


def test_an_exception_after_what_is_not_traced_is_not_traced() -> None:
    # L4636.
    config = EncoderConfig(view=lambda address: address >= 0x100A)
    out = bytearray()
    unit = encoder(out, config)
    unit.instructions([0x1000])
    unit.exception(16, 0x1002)
    unit.instructions([0x100A, 0x100C, 0x1010])
    unit.exception_return(handler=False)
    unit.instructions([0x1002, 0x1004, 0x1010, 0x1008])
    unit.flush()
    # The handler; then BL's target, whose return goes to where nothing is traced: its address is left out (L4600).
    assert text(out)[len(START) :] == "04 81 03 96 85 10 db 07 04 81 00 96 08 f7"


def test_atoms_come_before_the_gap() -> None:
    config = EncoderConfig(view=lambda address: address == 0x1002)
    # BEQ's block N and E, each followed by what is not traced.
    assert traced(config, [0x1002, 0x1004, 0x1010, 0x1008, 0x1000, 0x1002, 0x1000], None) == (
        "04 81 00 96 81 10 f6 04 90 f7"
    )


def test_synchronisation_is_periodic() -> None:
    out = bytearray()
    unit = encoder(out, EncoderConfig(sync_period=64, return_stack=True))
    for _ in range(100):
        unit.instructions([0x1008, 0x1000, 0x1002, 0x1004, 0x1010])
    unit.flush()
    points: List[int] = []
    at = out.find(bytes.fromhex(START))
    while at >= 0:
        points.append(at)
        at = out.find(bytes.fromhex(START), at + 1)
    gaps = [later - earlier for earlier, later in zip(points, points[1:])]
    assert len(gaps) > 3
    # Not before 64 bytes, and at the next P0 element after them.
    assert all(64 <= gap < 80 for gap in gaps)
    # After each but the first, the target of the last P0 element: a Context and an Address (L6741).
    assert all(out[point + 15 : point + 17] == b"\x81\x00" for point in points[1:])


def test_a_sink_can_ask_for_synchronisation() -> None:
    out = bytearray()
    unit = encoder(out)
    unit.instructions([0x1000, 0x1002])
    unit.request_sync()
    unit.instructions([0x1004, 0x1010])
    unit.flush()
    assert text(out)[len(START) :] == "04 81 00 96 80 10 f6 %s81 00 96 82 10 f7" % START


def test_overflow() -> None:
    out = bytearray()
    unit = encoder(out)
    unit.instructions([0x1000, 0x1002, 0x1004])
    unit.overflow()
    unit.instructions([0x1010, 0x1008])
    unit.flush()
    # L9285: what was not written is lost; Overflow, A-Sync, Trace Info, Trace On, Context, Address.
    assert text(out)[len(START) :] == "04 81 00 96 80 10 00 05 %s04 81 00 96 88 10 f7 96 04" % START


def test_timestamps_come_after_a_p0_element() -> None:
    out = bytearray()
    unit = encoder(out, EncoderConfig(timestamps=True))
    unit.instructions([0x1000, 0x1002, 0x1004, 0x1010])
    unit.exception(16, 0x1008)
    unit.instructions([0x100A])
    unit.flush()
    # Trace Info asked for one (L7853); it waits for the first atom, BEQ N (L7875).  The next belongs to the exception.
    assert text(out)[len(START) :] == ("04 81 00 96 80 10 f6 02 03 db 06 e0 00 96 04 81 03 96 05 02 05")


def test_cycle_counting() -> None:
    out = bytearray()
    unit = encoder(out, EncoderConfig(threshold=4))
    unit.instructions([0x1000, 0x1002] * 3 + [0x1004])
    unit.flush()
    # The first count is unknown (L7965): it comes when four cycles have passed, here after the second BEQ.
    assert text(out)[len(A_SYNC) + 1 :] == "01 09 01 04 04 81 00 96 80 10 db 0f f6"


def places(*wanted: Tuple[int, bool, int]) -> str:
    packets = writer(bytearray())
    return text(b"".join(packets.address_packet(*place) for place in wanted))


def test_addresses_of_every_form() -> None:
    # Exact Match, L11151; Short IS0 and IS1, L10957; Long 32-bit and 64-bit, L11034: IS0 tells bits 8:2, then 15:9.
    assert places((0x1FC, False, 0), (0x1FC, False, 0), (0x1FC, False, 1)) == "95 7f 90 95 7f"
    assert places((0x200, False, 0), (0x200, True, 0)) == "95 80 01 96 00"
    assert places((0x200, False, 1), (0x2FE, True, 2)) == "9a 00 01 00 00 9b 7f 02 00 00"
    assert places((0x81020304, True, 9)) == "9e 02 03 02 81 00 00 00 00"
    # Where a shorter form cannot tell the address the longer ones come first.
    high = 0xFFFFFFC000081234
    assert places((high, False, 0), (high + 4, False, 0)) == "9d 0d 09 08 00 c0 ff ff ff 95 0e"


def test_addresses_with_context_of_every_form() -> None:
    # L12039: 82 and 83 are 32-bit, 85 and 86 64-bit.
    packets = writer(bytearray())
    found = [
        packets.address_with_context_packet(0x1234, is1, b"\x21", form) for form in (0, 1) for is1 in (False, True)
    ]
    assert text(b"|".join(found)) == (
        "82 0d 09 00 00 21 7c 83 1a 12 00 00 21 7c 85 0d 09 00 00 00 00 00 00 21 7c 86 1a 12 00 00 00 00 00 00 21"
    )
    assert packets.address_with_context_packet(0x100001234, False, b"\x00")[0] == 0x85
