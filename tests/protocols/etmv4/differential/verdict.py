"""Compares a case's results with the truth, and with OpenCSD."""

from __future__ import annotations

import subprocess
import tempfile
from typing import List, Optional, Sequence

from gdb_etm.snapshot.writer import write_snapshot
from tests.lister import list_packets
from tests.protocols.etmv4.differential.accounts import Account, essence, ours, theirs
from tests.protocols.etmv4.differential.case import Case
from tests.protocols.etmv4.differential.recording import Recording, capture, record

_SHOWN = 4


def check_truth(case: Case) -> None:
    """Play a case; compare our result with the truth.

    :raises AssertionError: When they differ.
    """
    recording = record(case)
    _compare_with_truth("we", recording, ours(recording))


def check_opencsd(case: Case) -> None:
    """Play a case; compare OpenCSD, our result and the truth.

    :raises AssertionError: When they differ.
    """
    recording = record(case)
    found = ours(recording)
    _compare_with_truth("we", recording, found)
    with tempfile.TemporaryDirectory() as folder:
        write_snapshot(capture(recording), folder)
        try:
            other = theirs(list_packets(folder), recording.code)
        except subprocess.CalledProcessError as error:
            raise AssertionError("trc_pkt_lister ended with status %d\n%r" % (error.returncode, case)) from error
    _same("we", essence(found.facts), "OpenCSD", essence(other.facts), case)
    # It tells a count of 0 where the unit does not know it.
    counts: List[Optional[int]] = [count or 0 for count in found.counts]
    times = found.times
    if case.unfinished:
        # At the end it leaves out what comes after the first uncommitted element, which a Cancel would keep (5.2.19).
        counts, times = counts[: len(other.counts)], times[: len(other.times)]
    _same("we", times, "OpenCSD", other.times, case)
    _same("we", counts, "OpenCSD", other.counts, case)


def _compare_with_truth(who: str, recording: Recording, account: Account) -> None:
    case = recording.case
    truth = essence(recording.truth)
    facts = essence(account.facts)
    if case.cut:
        # What is found begins somewhere, and from there on it is right.
        assert len(facts) <= len(truth), case
        truth = truth[len(truth) - len(facts) :]
    _same(who, facts, "the truth", truth, case)
    for found, real in ((account.times, recording.times), (account.counts, recording.counts)):
        _same(who, found, "the truth", real[len(real) - len(found) :] if case.cut else real, case)


def _same(who: str, found: Sequence[object], other: str, expected: Sequence[object], case: Case) -> None:
    if list(found) == list(expected):
        return
    at = 0
    while at < min(len(found), len(expected)) and found[at] == expected[at]:
        at += 1
    lines = ["%s and %s differ at %d of %d and %d" % (who, other, at, len(found), len(expected)), repr(case)]
    for name, side in ((who, found), (other, expected)):
        lines += ["%s: %s" % (name, _words(one)) for one in side[max(0, at - _SHOWN) : at + _SHOWN]]
    raise AssertionError("\n".join(lines))


def _words(fact: object) -> str:
    if isinstance(fact, tuple) and isinstance(fact[0], tuple):
        (address, isa), setting = fact
        return "%#x %s %s" % (address, isa.name, tuple(setting))
    return repr(fact)
