"""Vectors worked by hand from IHI 0064: both streams to transfers.

Lines are those of its text in ../shared/spec.  P0 keys are 0 to 5, P1 keys 0 to 31.
"""

from __future__ import annotations

from typing import Dict, List, Optional, Tuple

from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.image import Program
from gdb_etm.protocols.elements import Exception_
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.data.decoder import decode_data
from gdb_etm.protocols.etmv4.decoder import Decoder
from tests.protocols.etmv4.data_streams import START, UNIT
from tests.protocols.etmv4.streams import ASYNC, Code, program
from tests.protocols.histories import history_of, same

FEW = UNIT._replace(p0_keys=6)
# Trace Info with loads and stores as P0 elements and key 0, Trace On, Thread mode, 0x1000.
BEGIN = ASYNC + "01 01 30 04 81 00 9b 00 10 00 00 "
# 1000 movs r0, #1 | 1002 ldr r1, [r0] | 1004 str r1, [r0] | 1006 ldr r2, [r1, #4] | 1008 ldmia r0!, {r1, r2, r3} |
# 100a strh r1, [r0] | 100c b 1000
CODE = program(Code(0x1000, "0120 0168 0160 4a68 0ec8 0180 f8e7"))
# Timestamps around the marker in the instruction stream, 5 and 20, and in the data stream, 8 and 10, leave no doubt
# that it is the same (L1341).
EARLY, LATE = "02 05 ", "02 14 "
Told = Tuple[Optional[bool], Optional[int], Optional[int], Optional[int], bool]


def decode(config: Etmv4Config, code: Program, instructions: str, data: str, before: str = "") -> ExecutionHistory:
    decoder = Decoder(config, code)
    elements = decode_data(config, bytes.fromhex(before + START + data), same)
    return history_of(decoder.decode(bytes.fromhex(BEGIN + instructions), same, transfers=elements), decoder)


def transfers(history: ExecutionHistory) -> Dict[int, List[Told]]:
    """Return transfers by instruction: store, size, address, value, certain."""
    found = {number: [one[1:6] for one in history.transfers(number)] for number in range(1, len(history) + 1)}
    return {number: told for number, told in found.items() if told}


def test_three_transfers_and_their_values() -> None:
    # Atoms of 1002 and 1004 (keys 0 and 1), NDSM 5, 1006 (key 2), then LDM, STRH and B.
    instructions = EARLY + "f7 f7 25 " + LATE + "f7 f7 f7 f7"
    # NDSM 5; P1 format 1 at 0x20001000, left key 0, right key 1 (L13500); then 04 and 08 with the next keys (L13492).
    data = "02 08 00 1b 7a 80 a0 80 80 02 00 72 04 72 08 02 0a "
    # P2 format 1 with key 2; format 2 with keys 1 and 3 (L14048): values in another order than addresses (L1204).
    data += "2c 02 44 33 22 11 36 7f 30"
    assert transfers(decode(FEW, CODE, instructions, data)) == {
        2: [(False, 4, 0x20001000, 0x7F, True)],
        3: [(True, 4, 0x20001004, 0x11223344, True)],
        4: [(False, 4, 0x20001008, 0, True)],
    }


def test_keys_come_round() -> None:
    # Twice through the loop: 1002 to 100c have the keys 0 to 5, then 0 to 5 again.  The marker comes after six.
    # Key 0: backwards from it (L1271), in the first round.  Key 3: forwards from there, three elements on (L1255).
    # Key 0: of the second round.  Key 4: not among the next three, so backwards, which does not move the last match
    # (L1288).  Key 1: so it is the one after the 0 of the second round.
    instructions = EARLY + "f7 f7 f7 f7 f7 f7 23 " + LATE + "f7 f7 f7 f7 f7 f7"
    data = "02 08 00 17 02 0a 7a 80 a0 80 80 02 00 7a 10 03 7a 20 00 7a 30 04 7a 40 01"
    found = transfers(decode(FEW, CODE, instructions, data))
    assert {number: [one[2] for one in told] for number, told in found.items()} == {
        2: [0x20001000],
        5: [0x20001010],
        6: [0x20001030],
        9: [0x20001020],
        10: [0x20001040],
    }


def test_more_keys_than_any_unit_has() -> None:
    # TRCIDR9 and TRCIDR10 have 32 bits; the search is the same.
    unit = UNIT._replace(p0_keys=0xFFFFFFFF, p1_keys=0xFFFFFFFF)
    data = "02 08 00 1b 02 0a 7a 80 a0 80 80 02 00 7a 10 03"
    found = transfers(decode(unit, CODE, EARLY + "f7 f7 25 " + LATE + "f7 f7 f7 f7", data))
    assert {number: [one[2] for one in told] for number, told in found.items()} == {2: [0x20001000], 5: [0x20001010]}


def test_contiguous_addresses_are_not_sent() -> None:
    # LDM of three registers: the first P1 element has the address, format 5 adds indices 1 and 2 (L13743).
    instructions = EARLY + "f7 f7 f7 f7 25 " + LATE + "f7 f7"
    data = "02 08 00 1b 02 0a 7a 80 a0 80 80 02 03 f9 10 11 12"
    assert transfers(decode(FEW, CODE, instructions, data)) == {
        5: [(False, 4, 0x20001000, 1, True), (False, 4, 0x20001004, 2, True), (False, 4, 0x20001008, 3, True)],
    }
    # The value of STRH is of two bytes, whatever the packet's size (L13983): P2 format 3 with four.
    data = "02 08 00 1b 02 0a 7a 80 a0 80 80 02 03 7a 10 04 40 cd ab 00 00"
    assert transfers(decode(FEW, CODE, instructions, data))[6] == [(True, 2, 0x20001010, 0xABCD, True)]


def test_a_cancelled_store() -> None:
    # LDR 0, STR 1, LDR 2, of which two are cancelled (the next key is 1 again, L10117); STR 1 and LDR 2 anew.
    unit = FEW._replace(max_speculation=8, commit_mode=0)
    instructions = EARLY + "f7 f7 f7 25 " + LATE + "2e 02 f7 28 f7 f7 2d 04"
    # NDSM 5: 0 (right key 1), and 1 of the cancelled STR (2); the unnumbered marker (L1672): 1 (3), 2 (4).
    data = "02 08 00 1b 02 0a 7a 80 a0 80 80 02 00 7a 40 01 01 7a 04 01 72 08 2c 03 01 00 00 00 29 02 ee"
    assert transfers(decode(unit, CODE, instructions, data)) == {
        2: [(False, 4, 0x20001000, None, True)],
        3: [(True, 4, 0x20001004, 1, True)],
        4: [(False, 4, 0x20001008, None, True)],
    }


def test_a_doubtful_marker() -> None:
    # L1340: without timestamps around the markers nothing shows that they are the same one, but for the first of two
    # streams that were captured from their beginnings on (L1634: tracing begins with a numbered marker in both).
    data = "00 1b 7a 80 a0 80 80 02 00"
    for before, certain in (("04", False), ("", True)):
        found = transfers(decode(FEW, CODE, "f7 f7 25 f7 f7 f7 f7", data, before))
        assert found == {2: [(False, 4, 0x20001000, None, certain)]}


def test_what_an_exception_pushes() -> None:
    # L7066, L7265: the Exception element has a key, here 1, and owns the P1 elements with it.
    instructions = EARLY + "f7 06 27 96 02 25 " + LATE + "81 03 96 80 10"
    data = "02 08 00 1b 02 0a 7a 80 a0 80 80 02 01 22 34 12"
    history = decode(FEW, CODE, instructions, data)
    assert transfers(history) == {}
    (exception,) = [event for _, event in history.elements() if isinstance(event, Exception_)]
    (pushed,) = history.event_transfers(exception)
    assert (pushed.store, pushed.address, pushed.value) == (True, 0x20001000, 0x1234)


def test_transfers_of_no_instruction_that_is_known() -> None:
    # L1302: of what came before the trace; L1314: before the first marker.
    instructions = EARLY + "f7 f7 25 " + LATE + "f7 f7 f7 f7"
    for data in ("02 08 00 1b 02 0a 7a 80 a0 80 80 02 05", "7a 80 a0 80 80 02 00 00 1b 02 0a"):
        assert transfers(decode(FEW, CODE, instructions, data)) == {}


def test_keys_after_a_discard() -> None:
    # L6824: they may be out of sequence, until a Trace Info tells the next one (L9163), here 3 for the LDR at 1002.
    data = "02 08 00 1b 02 0a 7a 80 a0 80 80 02 0%d"
    there = "04 81 00 9b 00 10 00 00 "
    unsynchronised = EARLY + "f7 00 03 " + there + "f7 f7 25 " + LATE + "f7"
    assert transfers(decode(FEW, CODE, unsynchronised, data % 1)) == {}
    synchronised = EARLY + "f7 00 03 " + ASYNC + "01 03 30 03 " + there + EARLY + "f7 f7 25 " + LATE + "f7"
    assert transfers(decode(FEW, CODE, synchronised, data % 3)) == {4: [(False, 4, 0x20001000, None, True)]}
    assert transfers(decode(FEW, CODE, synchronised, data % 1)) == {}
