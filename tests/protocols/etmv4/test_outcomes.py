"""Vectors worked by hand from IHI 0064, 2.6.2: results and instructions.

Lines are those of its text in ../shared/spec.  The program is T32; a dot in the expected outcomes is an instruction
without one, P a conditional instruction that passed, F one that failed.
"""

from __future__ import annotations

import pytest

from gdb_etm.protocols.elements import Gap
from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.decoder import Decoder
from tests.protocols.etmv4.streams import ASYNC, M_PROFILE, Code, program
from tests.protocols.histories import history_of, same

UNIT = M_PROFILE._replace(version=5, conditional=7, condition_keys=8)
FLAGS = UNIT._replace(condition_flags=True)
SPECULATIVE = UNIT._replace(max_speculation=8)

PROGRAM = program(
    # 1000 IT EQ; 1002 LDREQ r0, [r1]; 1004 ITTE NE; 1006 ADDNE; 1008 STRNE; 100a MOVEQ; 100c B 1040.
    Code(0xFF0, "00bf" * 8 + "08bf 0868 1abf 4018 0860 0120 18e0" + "00bf" * 8),
    # 1040 ITT GE; 1042 CMPGE r0, #1; 1044 BGE 1060; 1046 B 1000.
    Code(0x1030, "00bf" * 8 + "a4bf 0128 0cda dbe7" + "00bf" * 4),
    # 1060 MOVS r0, #1; 1062 IT EQ; 1064 ADDEQ; 1066 IT NE; 1068 ADDNE; 106a IT HI; 106c ADDHI; 106e CMP r0, #0;
    # 1070 IT EQ; 1072 ADDEQ; 1074 B 1060.
    Code(0x1050, "00bf" * 8 + "0120 08bf 4018 18bf 4018 88bf 4018 0028 08bf 4018 f4e7" + "00bf" * 4),
    # 2000, a handler: IT EQ; ADDEQ; BX LR.
    Code(0x1FF0, "00bf" * 8 + "08bf 4018 7047" + "00bf" * 4),
)
# Conditional Flush is stated after Trace Info (L2196); Trace On implies one as well.
INFO = "01 01 0e "
AT = {0x1000: "9b 00 10 00 00 ", 0x1040: "9b 20 10 00 00 ", 0x1060: "9b 30 10 00 00 ", 0x1006: "9b 03 10 00 00 "}
PREFIX = ASYNC + INFO + "04 81 00 "


def outcomes(config: Etmv4Config, text: str) -> str:
    """Return each instruction's outcome, and a bar for each gap."""
    decoder = Decoder(config, PROGRAM)
    history = history_of(decoder.decode(bytes.fromhex(text), same), decoder)
    found = ""
    number = 0
    for item in history.walk(1, len(history)):
        if isinstance(item, Gap):
            found += "" if item.reason.name == "TRACE_ON" else "|"
        elif hasattr(item, "number") and hasattr(item, "size"):
            number += 1
            found += {None: ".", True: "P", False: "F"}[history.outcome(number)]
    return found


def at(address: int) -> str:
    return PREFIX + AT[address]


@pytest.mark.parametrize(
    "packets, expected",
    [
        # One C element for each, in order (L2569): before the atom, after it, and split by it (L8096).
        ("48 49 49 48 f7", ".F.PPF."),
        ("f7 48 49 49 48", ".F.PPF."),
        ("48 f7 5f c5", ".F.PPF."),
        # One result for several C elements of one key (L2458).
        ("40 41 41 41 f7 6e 11", ".P.PPP."),
        # Results out of order (L2584).
        ("6d 08 f7 6e 41 6e 30 6e 20 6e 11", ".P.FFP."),
        # A result that never came (L10461).
        ("6d 08 f7 6e 41 6e 20 6e 10", ".F.F.P."),
        # Nothing known after the last C element.
        ("48 49 f7", ".F.P..."),
        # A special key (L10368).
        ("6c 09 f7 6e 91 01 48 49 49", ".P.FPP."),
    ],
)
def test_pass_or_fail(packets: str, expected: str) -> None:
    assert outcomes(UNIT, at(0x1000) + packets) == expected


@pytest.mark.parametrize(
    "selection, packets, expected",
    [
        # COND 001, 010, 011: only loads, only stores, or both have C elements (L15592).
        (1, "49 f7", ".P....."),
        (2, "48 f7", "....F.."),
        (3, "49 48 f7", ".P..F.."),
    ],
)
def test_loads_and_stores(selection: int, packets: str, expected: str) -> None:
    config = UNIT._replace(conditional=selection)
    text = at(0x1000).replace(INFO, "01 01 %02x " % (selection << 1))
    assert outcomes(config, text + packets) == expected


def test_branches_have_no_c_element() -> None:
    # L21456: the BGE in the block is a branch, with an atom; what is after it is no longer in the block.
    assert outcomes(UNIT, at(0x1040) + "49 f6 f7") == ".P.."
    assert outcomes(UNIT, at(0x1040) + "48 f7 48 49 48 48 f7") == ".F." + "..F.P.F..F."


@pytest.mark.parametrize(
    "packets, expected",
    [
        # A flush in both streams drops what is left of either (L2604): the surplus C element before it.
        ("49 49 49 49 49 f7 43 48 f6 f7", ".P.PPP." + ".F.."),
        # It is after the atom, so what was not traced before it is unknown, and what comes after it is not.
        ("49 f7 43 48 f6 f7", ".P....." + ".F.."),
        # A C element without result from before a flush gets none after it (L10461), nor does another of its key.
        ("6c 01 f7 43 6c 01 f6 f7 6e 11", "......." + ".P.."),
    ],
)
def test_flushes(packets: str, expected: str) -> None:
    # The second branch of each goes from 1046 to 1000.
    assert outcomes(UNIT, at(0x1000) + packets) == expected


def test_nothing_before_the_first_flush() -> None:
    # Without Trace On: what came before Trace Info may have left C elements (L2196).
    text = ASYNC + INFO + "81 00 " + AT[0x1000] + "49 49 49 49 f7 43 49 f6 f7"
    assert outcomes(UNIT, text) == "......." + ".P.."


def test_an_exception_in_an_it_block() -> None:
    # After 1006 comes IRQ0; its handler returns to 1008, still in the block of 1004 (L2556 and 5.2.7).
    handler = "9b 00 20 00 00 48 f7 07 "
    text = at(0x1000) + "48 49 06 a1 00 9b 04 10 00 00 " + handler + "9b 04 10 00 00 49 48 f7"
    assert outcomes(UNIT, text) == ".F.P" + ".F." + "PF."


def test_a_start_in_an_it_block() -> None:
    # Trace begins at 1006: its IT was not traced, so how many instructions are conditional is unknown until a flush at
    # a place that is certain.  The branch to 1040 leaves no block open.
    assert outcomes(UNIT, at(0x1006) + "49 49 48 f7 43 49 f6 f7") == "...." + ".P.."


def test_flags() -> None:
    # L2521 to L2527: 1064 needs Z; 1068 knows it already; 106c needs C as well, and its result tells only C rightly;
    # CMP clears the markers.
    text = at(0x1060) + "6f 14 6f 22 6f 30 f7"
    assert outcomes(FLAGS, text) == "..P.F.F..F."
    # With Z clear: HI passes with C set, whatever that result says of Z.
    assert outcomes(FLAGS, at(0x1060) + "6f 10 6f 26 6f 34 f7") == "..F.P.P..P."


def test_flags_are_forgotten_by_a_flush() -> None:
    # L2694: the branch at 1074 comes back to 1060; MOVS clears the markers anyway, so the flush is in the middle of the
    # block of flags: an exception after 1068 that returns to 106a (and whose handler needs Z).
    text = at(0x1060) + "6f 14 06 a1 00 9b 35 10 00 00 9b 00 20 00 00 6f 20 f7 07 9b 35 10 00 00 6f 32 6f 44 f7"
    assert outcomes(FLAGS, text) == "..P.F" + ".F." + ".P..P."


def test_flags_without_result() -> None:
    # The C element for Z has no result: 1064 and 1068 are unknown, and so is HI, which would need it.  After CMP there
    # is a new one.
    assert outcomes(FLAGS, at(0x1060) + "40 42 f7 6e 22") == ".........F."


def test_cancel_keeps_c_and_r_and_drops_f() -> None:
    # L8066 to L8070: at 1042 an exception, with its flush, is cancelled.  The C and R elements around it belong to the
    # instruction at 1042, which ran, and those after it; the flush is void.
    text = at(0x1000) + "48 49 49 48 f7 06 a1 00 9b 21 10 00 00 2e 01 48 f6 f7 43 49 49 49 49 f7 2d 04"
    assert outcomes(SPECULATIVE, text) == ".F.PPF." + ".F.." + ".P.PPP."
    text = at(0x1000) + "48 49 49 48 f7 48 06 a1 00 9b 21 10 00 00 2e 01 f6 f7 43 49 49 49 49 f7 2d 04"
    assert outcomes(SPECULATIVE, text) == ".F.PPF." + ".F.." + ".P.PPP."


def test_a_mispredicted_path() -> None:
    # 1044 is predicted taken, and 1060 is run: its C elements are dropped by the flush of the Mispredict (L10228), when
    # the atom at 1074 is cancelled and 1044 corrected; then 1046 goes to 1000.
    text = at(0x1040) + "49 f7 49 49 49 49 f7 2f 01 f7 48 48 48 48 f7 2d 03"
    assert outcomes(SPECULATIVE, text) == ".P." + "." + ".F.FFF."


def test_uncommitted_elements_take_their_results_with_them() -> None:
    assert outcomes(SPECULATIVE, at(0x1000) + "48 49 49 48 f7 49 f6 f7 2d 01") == ".F.PPF.|"


@pytest.mark.parametrize("bad", ["4a", "5b ff", "6d 00", "6f 81 01"])
def test_a_reserved_conditional_packet(bad: str) -> None:
    # Execution goes on; results are unknown until keys are known again, at a Trace Info, and a flush after it.
    text = at(0x1000) + "48 49 49 48 f7 %s 49 f6 f7 43 49 49 49 49 f7 " % bad
    assert outcomes(UNIT, text) == ".F.PPF.|" + "...." + "......."
    text += INFO + "43 " + AT[0x1040] + "49 f6 f7"
    assert outcomes(UNIT, text) == ".F.PPF.|" + "...." + "......." + ".P.."


def test_a_reserved_packet() -> None:
    # What was before it is right, and what comes after the next Trace Info and flush.
    text = at(0x1000) + "48 49 f7 b0 f7 49 " + ASYNC + INFO + "81 00 43 " + AT[0x1040] + "49 f6 f7"
    assert outcomes(UNIT, text).replace("|", "") == ".F.P..." + ".P.."


def test_more_keys_than_any_unit_has() -> None:
    # TRCIDR12 has 32 bits; the elements up to a key far away are not made.
    config = UNIT._replace(condition_keys=1 << 31)
    assert outcomes(config, at(0x1000) + "44 48 f7 49") == "......."


def test_one_key() -> None:
    # As in a Cortex-M33: NUMCONDKEY 1, every element has key 0.
    config = UNIT._replace(condition_keys=1)
    assert outcomes(config, at(0x1000) + "48 49 5f f5 f7") == ".F.PPP."
