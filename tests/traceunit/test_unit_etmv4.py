"""Vectors worked by hand: attaching to an ETMv4, each access.

States that the board is never in; from IHI 0064: 7.2, 7.3.14 and 7.3.15, 7.3.49 to 7.3.52.
"""

from __future__ import annotations

from itertools import count

import pytest

from gdb_etm.coresight.poll import Deadline
from gdb_etm.errors import CaptureError, UnsupportedError
from gdb_etm.traceunit.etmv4.unit import EtmV4Unit
from tests.coresight.transcript import Transcript, transcript

BASE = 0x82040000
UNLOCK = """
r fb4 = 0
w fb0 = c5acce55
"""
POWERED = """
r 310 = 8           ; TRCPDCR.PU
r 314 = 1           ; TRCPDSR.POWER
"""
NO_OS_LOCK = "r 304 = 0\n"
IDENTITY = """
block 180 = 0 0 0 0 0 0
block 1e0 = 28000ea1 4100f403 488 d7b0004 11170004 28c7081e 0 0
block fb8 = cc 47704a13
block 2a0 = 1       ; TRCSSCSR0
"""
NOT_TESTING = "r f00 = 0\n"
CLAIM = """
r fa0 = ff          ; tags that there are
r fa4 = 0           ; tags that are set
w fa0 = 1
"""
IDLE = """
w 004 = 0
r 00c = 3
r 00c = 3
block 004 = 0
"""


def attached(text: str) -> Transcript:
    port = transcript(BASE, text)
    unit = EtmV4Unit(port, BASE, Deadline(1.0, count(0.0, 0.4).__next__))
    unit.attach()
    assert unit.title == "ETMv4.0" and unit.protocol == "etmv4"
    unit.release()
    return port


def test_no_power_and_os_lock() -> None:
    """L14548: power first, then the OS Lock; trace registers fault without."""
    assert attached(
        UNLOCK
        + """
        r 310 = 0           ; TRCPDCR
        w 310 = 8
        r 314 = 22          ; TRCPDSR: OSLK, STICKYPD, no power yet
        r 314 = 21
        r 304 = a           ; TRCOSLSR: implemented, locked
        w 300 = 0
        r 304 = 8
    """
        + IDENTITY
        + NOT_TESTING
        + CLAIM
        + IDLE
        + """
        w fa4 = 1           ; undone in reverse: claim, OS Lock, power last (L17198)
        w 300 = 1
        w 310 = 0
    """
    ).finished


def test_our_own_claim_is_left_from_a_killed_session() -> None:
    claimed = CLAIM.replace("r fa4 = 0", "r fa4 = 1")
    assert attached(READY + IDENTITY + NOT_TESTING + claimed + IDLE + "w fa4 = 1").finished


READY = UNLOCK + POWERED + NO_OS_LOCK


@pytest.mark.parametrize(
    "text, message",
    [
        (
            UNLOCK + "r 310 = 8\nr 314 = 2\nr 314 = 0\nr 314 = 0\nr 314 = 0",
            "has no power .TRCPDSR is 0x0.: keep the core",
        ),
        (UNLOCK + POWERED + "r 304 = a\nw 300 = 0" + 4 * "\nr 304 = a", "software on the target holds"),
        (READY + IDENTITY.replace("cc", "88"), "authentication forbids tracing .TRCAUTHSTATUS is 0x88"),
        (READY + IDENTITY + "r f00 = 1", "integration mode .TRCITCTRL.IME.: reset the chip"),
        (READY + IDENTITY + NOT_TESTING + "r fa0 = ff\nr fa4 = 2", "in use by software .*tags 0x02"),
    ],
)
def test_it_cannot_be_used(text: str, message: str) -> None:
    port = transcript(BASE, text)
    with pytest.raises(CaptureError, match=message):
        EtmV4Unit(port, BASE, Deadline(1.0, count(0.0, 0.4).__next__)).attach()
    assert port.finished


def test_it_is_no_etmv4() -> None:
    port = transcript(BASE, READY + IDENTITY.replace("4100f403", "4100f503"))
    with pytest.raises(UnsupportedError, match="has major version 5, not 4"):
        EtmV4Unit(port, BASE, Deadline()).attach()


def test_secure_code_is_not_traced() -> None:
    port = transcript(BASE, READY + IDENTITY.replace("cc", "8c") + NOT_TESTING + CLAIM)
    unit = EtmV4Unit(port, BASE, Deadline())
    unit.attach()
    assert unit.notes == ("Secure code is not traced: the chip's debug authentication forbids it (TRCAUTHSTATUS.SNID)",)
