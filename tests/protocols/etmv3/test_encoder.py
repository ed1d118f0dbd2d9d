"""Vectors worked by hand from IHI 0014Q: the ETMv3 encoder."""

from __future__ import annotations

from typing import Callable, Dict, Sequence

import pytest

from gdb_etm.protocols.etmv3.encode.data import BusTransfer, DataConfig
from gdb_etm.protocols.etmv3.encode.encoder import NO_EXECUTION, Encoder, EncoderConfig

A_SYNC = "00 00 00 00 00 80 "
START = A_SYNC + "08 21 01 10 00 00 "
AT_1004 = A_SYNC + "08 21 05 10 00 00 "

# 1000 movs r0, #0 | 1002 beq 1000 | 1004 bl 1010 | 1008 bx r3 | 100a ldr r0, [r1] | 100c isb | 1010 bx lr | 1012 b 1000
CODE = bytes.fromhex("0020 fdd0 00f0 04f8 1847 0868 bff3 6f8f 7047 f5e7".replace(" ", ""))


def read_code(address: int) -> bytes:
    return CODE[address - 0x1000 : address - 0x1000 + 4]


class Told:
    """An encoder, and what it tells."""

    def __init__(self, **config: object) -> None:
        self._out = bytearray()
        self.unit = Encoder(EncoderConfig()._replace(**config), read_code, self._out.extend)
        self.unit.enable()

    def run(self, *addresses: int, failed: Sequence[int] = ()) -> None:
        self.unit.instructions(addresses, failed)

    def end(self) -> str:
        self.unit.disable()
        return self._out.hex(" ")


def test_atoms_and_targets() -> None:
    told = Told()
    # MOVS, BEQ not taken, BL, BX LR to 1008, BX R3 to 100a, ISB: only indirect branches have an address.
    told.run(0x1000, 0x1002, 0x1004, 0x1010, 0x1008, 0x100A, 0x100C, 0x1010)
    # MOVS E, BEQ N | BL E, BX E | 1008: a[6:1] = 04 | BX E | 100a: 05 | LDR, ISB, BX.
    assert told.end() == START + "c4 88 09 84 0b 8c"


def test_every_branch_that_is_taken_has_its_target() -> None:
    told = Told(branch_output=True)
    told.run(0x1000, 0x1002, 0x1000, 0x1002, 0x1004, 0x1010)
    assert told.end() == START + "88 01 c4 84 11 84"


def test_failed_conditions() -> None:
    told = Told()
    told.run(0x1000, 0x1008, 0x100A, 0x100C, failed=(1, 2))
    # MOVS E, BX N (no target), LDR N, ISB E.
    assert told.end() == START + "c4 8a"


def test_exceptions() -> None:
    told = Told()
    told.run(0x1000)
    told.unit.exception(17, 0x1002)
    told.run(0x1010)
    told.unit.exception_return()
    # Tail-chained: nothing ran since.
    told.unit.exception(15, NO_EXECUTION)
    told.run(0x1010)
    told.unit.exception_return()
    told.run(0x1002, 0x1004)
    # IRQ1 with its handler at 1010: at least two bytes of address, then type 1; exit; SysTick, type 15; exit; 1002.
    assert told.end() == START + "84 91 60 02 84 76 91 60 1e 84 76 03 c0"


def test_an_instruction_that_is_cancelled() -> None:
    told = Told()
    told.run(0x1000)
    told.unit.exception(16, 0x100A, cancelled=True)
    told.run(0x1010)
    # MOVS and LDR, then IRQ0, type 8, with the cancel bit.
    assert told.end() == START + "88 91 60 30 84"


def test_debug_state() -> None:
    told = Told()
    told.run(0x1000, 0x1002)
    told.unit.debug_halt(0x1000)
    told.unit.resume()
    told.run(0x100A)
    # The direction of BEQ shows in where the core halted. I-sync with the reason debug state.
    assert told.end() == START + "88 08 61 0b 10 00 00 84"


def test_what_a_filter_leaves_out() -> None:
    told = Told(view=lambda address: address != 0x1008)
    told.run(0x1000, 0x1010, 0x1008, 0x1000)
    # BX LR is traced, so its target is told though that is not.
    assert told.end() == START + "88 09 08 21 01 10 00 00 84"


def test_an_overflow() -> None:
    told = Told()
    told.run(0x1000, 0x1002)
    told.unit.overflow()
    told.run(0x1004)
    # What waited is lost.
    assert told.end() == START + "08 41 05 10 00 00"


def test_synchronisation() -> None:
    told = Told(sync_period=8)
    told.run(*[0x1000, 0x1010] * 8)
    data = told.end()
    # An I-sync packet some instructions after each A-sync.
    assert data.startswith(START + "88 01 " + A_SYNC) and " 08 01 01 10 00 00 " in data


def test_cycles() -> None:
    told = Told(cost=lambda insn, ran: 2 * ran, view=lambda address: address != 0x100A)
    told.run(0x1000, 0x1002, 0x1004, 0x1010, 0x100A, 0x1000)
    # The first count is unknown; WWE | N | WWE | WWE | its target; two cycles passed before the next.
    expected = A_SYNC + "70 00 21 01 10 00 00 e4 96 e4 e4 0b 70 02 21 01 10 00 00 e4"
    assert told.end() == expected


def test_cycles_after_debug_state_in_a_packet_of_their_own() -> None:
    told = Told(cost=lambda insn, ran: 1)
    told.run(0x1000)
    told.unit.debug_halt(0x100A)
    told.unit.resume()
    told.run(0x100A)
    assert told.end() == A_SYNC + "70 00 21 01 10 00 00 84 08 61 0b 10 00 00 04 00 84"


def test_timestamps() -> None:
    told = Told(timestamps=True)
    told.run(0x1000)
    told.unit.exception(17, 0x1002)
    told.run(0x1010)
    # All seven bytes after A-sync; one is enough when the handler begins, after one instruction.
    whole = "42 80 80 80 80 80 80 00 "
    assert told.end() == A_SYNC + whole + "08 21 01 10 00 00 84 91 60 02 42 02 84"


def test_the_trigger() -> None:
    told = Told()
    told.run(0x1000)
    told.unit.trigger()
    told.run(0x100A)
    assert told.end() == START + "84 0c 84"


LOAD = BusTransfer(0x20001004, 4, 0x1234, False)
NEXT = BusTransfer(0x20001008, 4, 0, False)


def data(transfers: Sequence[BusTransfer], **config: object) -> str:
    told = Told(data=DataConfig(True, True, late=False)._replace(**config))
    by_index: Dict[int, Sequence[BusTransfer]] = {0: transfers}
    told.unit.instructions([0x100A], (), by_index)
    return told.end()[len(START) :]


@pytest.mark.parametrize(
    "transfers, config, expected",
    [
        # Size 2 in bits 3:2, A in bit 5; five bytes of address; two of value.
        ((LOAD,), {}, "84 2a 84 a0 80 80 02 34 12"),
        # The second word follows the first, and is 0: no address, no value.
        ((LOAD, NEXT), {}, "84 2a 84 a0 80 80 02 34 12 02"),
        ((LOAD, NEXT._replace(address=0x20001010)), {}, "84 2a 84 a0 80 80 02 34 12 22 10"),
        ((LOAD, NEXT), {"values": False}, "84 22 84 a0 80 80 02 02"),
        ((LOAD, NEXT), {"addresses": False}, "84 2a 34 12 02"),
        # The filter's first word begins the list, and what it leaves out afterwards is told to be left out.
        ((LOAD, NEXT), {"view": lambda at, each: bool(each.address & 8)}, "84 22 88 a0 80 80 02"),
        ((LOAD, NEXT), {"view": lambda at, each: bool(each.address & 4)}, "84 2a 84 a0 80 80 02 34 12 6a"),
        ((LOAD, NEXT), {"view": lambda at, each: False}, "84"),
    ],
)
def test_data(transfers: Sequence[BusTransfer], config: Dict[str, object], expected: str) -> None:
    assert data(transfers, **config) == expected


def test_data_of_exceptions() -> None:
    told = Told(data=DataConfig(True, True, late=False))
    told.run(0x1000)
    told.unit.exception(17, 0x1002, [BusTransfer(0x20000000, 4, 5, True), BusTransfer(0x20000004, 4, 0, True)])
    told.run(0x1010)
    told.unit.exception_return([BusTransfer(0x20000000, 4, 5, False), BusTransfer(0x20000004, 4, 0, False)])
    told.run(0x1002)
    # After the exception its marker and what was pushed; after the exit what was popped; then where execution goes on.
    pushed, popped = "26 80 80 80 80 02 05 02", "26 00 05 02"
    assert told.end() == START + "84 91 60 02 7e " + pushed + " 84 76 " + popped + " 03"


def test_suppressed_data() -> None:
    told = Told(data=DataConfig(True, True, late=False))
    by_index: Callable[[int], Dict[int, Sequence[BusTransfer]]] = lambda count: {n: (LOAD,) for n in range(count)}
    told.unit.instructions([0x100A], (), by_index(1))
    told.unit.suppress()
    told.unit.instructions([0x100A] * 17, (), by_index(17))
    packet = "2a 84 a0 80 80 02 34 12"
    # Sixteen instructions without data, then a whole address.
    assert told.end() == A_SYNC + "08 21 0b 10 00 00 84 %s 62 bc 88 %s" % (packet, packet)
