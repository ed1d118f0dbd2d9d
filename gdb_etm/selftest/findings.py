"""What the steps of a self test find."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from gdb_etm.errors import EtmError


class StepOutcome(Enum):
    """How a step came out."""

    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"


class StepFinding(NamedTuple):
    """One line of the report."""

    # What was tried, in a few words; the same whatever came out.
    subject: str
    outcome: StepOutcome
    # The register, byte or instruction that shows it.
    proof: str


class StepFailure(EtmError):
    """A step failed: the hardware does not do as it should.

    The message names the register, byte or instruction that shows it.
    """


class StepSkipped(EtmError):
    """A step cannot be made here; the message says why."""
