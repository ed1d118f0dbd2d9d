"""What a check finds."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, Optional


class Verdict(Enum):
    """How a check came out."""

    OK = "ok"
    BAD = "bad"
    UNKNOWN = "unknown"


class Mend(Enum):
    """Automatic repair of a finding, in the order of repairing.

    The value is reported when it is done.
    """

    DEBUG_POWER = "asked the debug port for power"
    VENDOR = "wrote what the board profile wants"
    TRACE_ENABLE = "set DEMCR.TRCENA"
    ATTACH = "looked for trace unit and buffer again, and took them"
    UNIT = "asked for the trace unit's power, and opened its locks"
    LINKS = "opened the funnel's ports"
    START = "programmed the trace unit, and started with an empty buffer"


class DoctorFinding(NamedTuple):
    """One line of the verdict."""

    # What was looked at, in a few words; the same whatever came out.
    subject: str
    verdict: Verdict
    # The register with its value, and what that means.
    proof: str
    # What to type or to do, where it is bad.
    advice: str = ""
    # What would be done about it on request.
    mend: Optional[Mend] = None


# What applies mends.
FIX = "etm doctor --fix"
# What sets everything going, when tracing was not started yet.
START = "etm start"


def ok(subject: str, proof: str) -> DoctorFinding:
    """Note that something is as it should be."""
    return DoctorFinding(subject, Verdict.OK, proof)


def bad(subject: str, proof: str, advice: str = "", mend: Optional[Mend] = None) -> DoctorFinding:
    """Note a reason why there may be no trace.

    :param advice: What to type or to do; with a mend it may be left out.
    """
    return DoctorFinding(subject, Verdict.BAD, proof, advice or (FIX if mend is not None else ""), mend)


def unknown(subject: str, proof: str) -> DoctorFinding:
    """Return a finding for something that cannot be known."""
    return DoctorFinding(subject, Verdict.UNKNOWN, proof)
