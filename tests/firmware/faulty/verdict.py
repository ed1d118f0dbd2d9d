"""Verdicts on faulty programs, from their kept captures."""

from __future__ import annotations

import time
from typing import NamedTuple, Optional, Set

from gdb_etm.diagnosis.diagnose import Diagnosis, calls_between
from gdb_etm.diagnosis.scene import Scene
from gdb_etm.diagnosis.suspicion import Suspicion, SuspicionKind
from gdb_etm.errors import CommandError
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.recovery.values import Tier
from gdb_etm.session.diagnosed import diagnosed
from gdb_etm.session.session import DebugSession
from gdb_etm.session.snapshots import load
from tests.firmware.faulty.run import Lines, Outcome


class Judged(NamedTuple):
    """A diagnosis beside the truth."""

    # "named", "chain", "missed", or "wrong" if it accuses another line.
    mark: str
    kind: str
    text: str
    # Seconds of CPU from the decoded history to the verdict, recovery included.
    seconds: float


def judge(found: Outcome) -> Judged:
    """Diagnose a capture, and compare the verdict with the culprit.

    A verdict that only says where a value came from, and accuses nobody, is not wrong.
    """
    session = DebugSession(OfflineDebugger([str(found.elf)]))
    load(session, str(found.snapshot), [str(found.elf)], None)
    session.shown()
    begun = time.process_time()
    try:
        got = diagnosed(session)
    except CommandError as error:
        return Judged("missed", "none", str(error), time.process_time() - begun)
    seconds = time.process_time() - begun
    verdict = got.diagnosis.verdict
    addresses = _chain(got.scene, got.diagnosis)
    named = _address(got.scene, verdict)
    lines = Lines(found.elf, addresses | ({named} if named is not None else set()))
    culprits = {(name, line) for name, line in found.facts["culprit_lines"]}
    mark = "missed"
    if any(lines.of(address) & culprits for address in addresses):
        mark = "chain"
    if verdict is not None and verdict.kind is not SuspicionKind.ORIGIN:
        mark = "wrong"
    # What accuses rests on what is exact or assumed.
    is_sure = verdict is not None and (verdict.kind is SuspicionKind.ORIGIN or verdict.tier <= Tier.ASSUMED)
    if is_sure and named is not None and lines.of(named) & culprits:
        mark = "named"
    kind, text = ("none", "") if verdict is None else (verdict.kind.name.lower(), verdict.text)
    return Judged(mark, kind, text, seconds)


def _address(scene: Scene, verdict: Optional[Suspicion]) -> Optional[int]:
    if verdict is None or not verdict.number:
        return None
    return verdict.address & ~1 if verdict.address is not None else scene.index.address(verdict.number)


def _chain(scene: Scene, diagnosis: Diagnosis) -> Set[int]:
    # The instructions of all steps that were followed, and the calls between them.
    numbers = {node.maker.number for node in diagnosis.slice.nodes}
    numbers.update(called for node in diagnosis.slice.nodes for called in calls_between(scene, node))
    return {scene.index.address(number) for number in numbers if 1 <= number <= len(scene.history)}
