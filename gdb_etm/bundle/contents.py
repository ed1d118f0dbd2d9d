"""What a bundle holds."""

from __future__ import annotations

from typing import Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.access.recording import RecordedStep
from gdb_etm.errors import EtmError

# Version of the file's format; another one is refused.
FORMAT = 1


class BundleError(EtmError):
    """A bundle cannot be read or written."""


class BundleOrigin(NamedTuple):
    """Where a bundle was made: versions, and the connection."""

    # Versions of what took part, by name: ``"gdb_etm"``, ``"GDB"``, ``"probe firmware"``.
    versions: Mapping[str, str]
    # What was connected to, such as ``"Cortex-M33 r0p4"``.
    name: str
    # The probe, or the server that GDB is connected to.
    probe: str
    # The product name of the core; None where only trace hardware was reached.
    core: Optional[str]
    # The first ROM table of each port.
    tables: Tuple[int, ...]
    # Whether the connection had ended when the bundle was made: then the doctor did not look at that moment.
    has_ended: bool = False
    format: int = FORMAT


class KeptCapture(NamedTuple):
    """What is kept of a capture beside its files."""

    # As the record's step calls it, such as ``"capture 1"``.
    name: str
    # How many instructions it was decoded into; negative where nobody has looked.
    instructions: int
    # A hash of their addresses and of the gaps between them; empty where nobody has looked.
    digest: str
    size: int


class KeptFinding(NamedTuple):
    """A line of the doctor's verdict."""

    subject: str
    verdict: str
    proof: str
    advice: str


class Bundle(NamedTuple):
    """A bundle in memory."""

    origin: BundleOrigin
    # The names of the ports by their numbers.
    ports: Tuple[str, ...]
    steps: Sequence[RecordedStep]
    captures: Tuple[KeptCapture, ...]
    findings: Tuple[KeptFinding, ...]
    # The components by address, a line each.
    components: Tuple[str, ...] = ()
    # What was left out, and why, a line each.
    notes: Tuple[str, ...] = ()
    # Snapshot folders of the captures, by number: their files by name.
    snapshots: Mapping[int, Mapping[str, bytes]] = {}


def listing(bundle: Bundle, with_program: bool) -> List[str]:
    """List what is in a bundle, for who sends it."""
    counts: Dict[str, int] = {}
    for step in bundle.steps:
        name = step.name or "between"
        counts[name] = counts.get(name, 0) + len(step.accesses)
    lines = ["versions: " + ", ".join("%s %s" % pair for pair in bundle.origin.versions.items())]
    lines.append("probe: %s; target: %s" % (bundle.origin.probe, bundle.origin.name))
    lines.append("%d components with their identification registers and ROM tables" % len(bundle.components))
    lines.append("register accesses: " + ", ".join("%s %d" % pair for pair in counts.items()))
    for capture in bundle.captures:
        lines.append("%s: %s bytes of trace, the trace unit's registers" % (capture.name, format(capture.size, ",")))
    lines.append("%d lines of the doctor" % len(bundle.findings))
    if with_program:
        lines.append("the program's bytes, and the core's registers at the halts")
    else:
        lines.append("no program bytes, symbols, paths, memory or core registers")
    return lines + list(bundle.notes)
