"""Vectors worked by hand from IHI 0064, 2.6.2: A32 conditions.

Lines are those of its text in ../shared/spec.  An outcome is P (passed), F (failed) or a dot where nothing is told.
"""

from __future__ import annotations

import pytest

from gdb_etm.protocols.etmv4.config import Etmv4Config
from gdb_etm.protocols.etmv4.decoder import Decoder
from tests.protocols.etmv4.streams import A_PROFILE, ASYNC, Code, program
from tests.protocols.histories import history_of, same

# 1000 cmp r0, #0 | moveq r0, #1 | strne r1, [r2] | addgt r1, r1, #1 | b 1000
# 2000 ldreq r1, [r0] | strne r1, [r0] | moveq r1, #0 | cmpne r0, #1 | movgt r0, #1 | b 2014
CODE = program(
    Code(0x1000, "000050e3 0100a003 00108215 011081c2 faffffea"),
    Code(0x2000, "00109005 00108015 0010a003 01005013 0100a0c3 feffffea"),
)
PASS_FAIL = A_PROFILE._replace(conditional=7, condition_keys=8)
FLAGS = PASS_FAIL._replace(condition_flags=True)
LOADS = PASS_FAIL._replace(conditional=1)
STORES = PASS_FAIL._replace(conditional=2)
BOTH = PASS_FAIL._replace(conditional=3)


def outcomes(config: Etmv4Config, packets: str, start: str = "08") -> str:
    """Decode from 0x1000 on; INFO bits 3:1 say what is traced.

    See L9187; Trace On implies a flush (L9246).
    """
    begin = ASYNC + "01 01 %02x 04 81 21 9a 00 %s 00 00 " % (config.conditional << 1, start)
    decoder = Decoder(config, CODE)
    history = history_of(decoder.decode(bytes.fromhex(begin + packets), same), decoder)
    letters = {None: ".", True: "P", False: "F"}
    return "".join(letters[history.outcome(number)] for number in range(1, len(history) + 1))


@pytest.mark.parametrize(
    "packets, expected",
    [
        # C elements with the keys 1, 2, 3, then an R for each; before the atom and after it (L8096).
        ("6d 06 6e 11 6e 20 6e 31 f7", ".PFP."),
        ("f7 6d 06 6e 11 6e 20 6e 31", ".PFP."),
        ("40 f7 40 40 68 11 20 6e 31", ".PFP."),
        # R elements in any order (L2586).
        ("6d 06 6e 31 f7 6e 20 6e 11", ".PFP."),
        # One R for several C with its key (L2441).
        ("41 41 41 6e 01 f7", ".PPP."),
        ("6d 05 6e 20 6e 11 f7", ".PFF."),
        # Only for those before it that have no R yet (L2598).
        ("41 6e 01 41 6e 00 41 6e 01 f7", ".PFP."),
        # Formats 2 and 3: each R comes with its C (L10643, L10679); 01, 00, 01 and null.
        ("49 48 49 f7", ".PFP."),
        ("5f d1 f7", ".PFP."),
        # A C without R: its instruction is not known, the others are (L2602).
        ("6d 06 6e 11 6e 31 f7", ".P.P."),
        ("6d 06 6e 20 f7", "..F.."),
        # A special key (L10368) is a key like others when it comes to matching.
        ("6c 09 40 40 6e 91 01 6e 20 6e 31 f7", ".PFP."),
        # Twice round.
        ("6d 0c 6e 11 6e 20 6e 30 6e 40 6e 51 6e 61 db", ".PFF..FPP."),
    ],
)
def test_pass_or_fail(packets: str, expected: str) -> None:
    assert outcomes(PASS_FAIL, packets) == expected


@pytest.mark.parametrize(
    "packets, expected",
    [
        # L2667: a Flush drops what is left over, and the next C is the next instruction's.
        ("6d 0a 6e 11 6e 20 6e 31 6e 40 6e 51 f7 43 6d 06 6e 61 6e 71 6e 00 f7", ".PFP..PPF."),
        # Where nothing is left over it changes nothing.
        ("6d 06 6e 11 6e 20 6e 31 f7 43 6d 06 6e 40 6e 51 6e 60 f7", ".PFP..FPF."),
        # An Exception implies one (L9700): of the second round only CMP and MOVEQ ran, and its third C is void.
        (
            "6d 06 6e 11 6e 20 6e 31 f7 6d 06 6e 40 6e 51 6e 61 06 1d 95 82 08 95 80 08 6d 06 6e 71 6e 01 6e 11 f7",
            ".PFP..F.PPP.",
        ),
        # So does a Trace On (L9246).
        ("6d 06 6e 11 6e 20 6e 31 f7 40 40 6e 40 04 95 80 08 6d 06 6e 61 6e 71 6e 00 f7", ".PFP..PPF."),
    ],
)
def test_flushes(packets: str, expected: str) -> None:
    assert outcomes(PASS_FAIL, packets) == expected


@pytest.mark.parametrize(
    "config, packets, expected",
    [
        # L9187: loads, stores, both, all: of 0x2000 to 0x2010, LDREQ, STRNE, MOVEQ, CMPNE, MOVGT.
        (LOADS, "49 f7", "P....."),
        (STORES, "48 f7", ".F...."),
        (BOTH, "49 48 f7", "PF...."),
        (PASS_FAIL, "49 48 49 48 48 f7", "PFPFF."),
    ],
)
def test_what_is_traced(config: Etmv4Config, packets: str, expected: str) -> None:
    assert outcomes(config, packets, "10") == expected


@pytest.mark.parametrize(
    "packets, start, expected",
    [
        # L2521: MOVEQ needs Z and gets a C; STRNE needs Z, which is known; ADDGT needs N and V besides.  Its R tells N
        # and V rightly (L2563), and its Z is not to be used: Z is set, so GT fails although R says N = V and Z clear.
        ("40 6e 14 40 6e 29 f7", "08", ".PFF."),
        # The other way round: Z is clear, so GT passes with N = V although the second R says Z.
        ("40 6e 10 40 6e 2d f7", "08", ".FPP."),
        ("40 6e 10 40 6e 28 f7", "08", ".FPF."),
        # CMP clears the markers (L2526): two C elements each time round.
        ("40 6e 14 40 6e 20 f7 40 6e 30 40 6e 40 f7", "08", ".PFF..FPP."),
        # CMPNE sets flags even when it fails (L21501), so MOVGT has a C of its own, with all that it needs.
        ("40 6e 14 40 6e 20 f7", "10", "PFPFP."),
        ("40 6e 14 40 6e 24 f7", "10", "PFPFF."),
        # One R for both C elements (L2558): the same key.
        ("41 41 6e 04 f7", "08", ".PFF."),
        # A Flush clears the markers (L2527): an IRQ before STRNE; Z has to be told again after it, and N and V.
        ("40 6e 14 06 1d 95 82 08 95 82 08 40 6e 20 40 6e 39 f7", "08", ".PPP."),
        # Without R nothing is known of Z, and so of all three.
        ("40 40 6e 29 f7", "08", "....."),
    ],
)
def test_flags(packets: str, start: str, expected: str) -> None:
    assert outcomes(FLAGS, packets, start) == expected
