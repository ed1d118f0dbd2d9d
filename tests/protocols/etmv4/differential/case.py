"""One case: a unit's configuration and all that happens."""

from __future__ import annotations

from typing import Dict, NamedTuple, Optional

from hypothesis import strategies as st

PROFILES = ("a64", "a32", "mixed", "v7m", "v8m")
CORES = {"a64": "Cortex-A57", "a32": "Cortex-A53", "mixed": "Cortex-A72", "v7m": "Cortex-M4", "v8m": "Cortex-M33"}


class Case(NamedTuple):
    """A random execution under a configuration."""

    # Decides program and execution.
    seed: int
    # The core: ``a64``, ``a32`` (T32 too), ``mixed`` (A64 above A32 and T32), ``v7m`` or ``v8m``.
    profile: str = "a64"
    # About how many P0 elements.
    blocks: int = 60
    # TRCIDR8.MAXSPEC.
    max_speculation: int = 0
    # TRCIDR0.COMMOPT.
    commit_mode: int = 1
    # TRCCCCTLR.THRESHOLD; None without cycle counting.
    threshold: Optional[int] = None
    return_stack: bool = False
    broadcast: bool = False
    context_id: bool = False
    vmid_bytes: int = 0
    timestamps: bool = False
    # TRCIDR2.WFXMODE.
    waits: bool = False
    exceptions: bool = True
    # P0 elements between synchronisation points; 0 for only the one at the start.
    sync_period: int = 0
    # Whether tracing is off now and then.
    gaps: bool = False
    # Whether there are overflows and discards.
    losses: bool = False
    # Whether the last P0 elements stay uncommitted.
    unfinished: bool = False
    # How much of the front is lost, in thousandths of the stream.
    cut: int = 0
    # Whether to keep to what OpenCSD 1.3.3 reads as the specification has it; where it does not, the unit says why.
    portable: bool = True

    @property
    def m_profile(self) -> bool:
        """Whether the core is an M-profile one."""
        return self.profile in ("v7m", "v8m")

    def registers(self, trace_id: int) -> Dict[str, int]:
        """Give the unit's registers."""
        config = 1 | (self.threshold is not None) << 4 | self.context_id << 6 | (self.vmid_bytes > 0) << 7
        config |= self.timestamps << 11 | self.return_stack << 12 | self.broadcast << 3
        vmid = self.vmid_bytes << 10
        return {
            "TRCCONFIGR": config,
            "TRCTRACEIDR": trace_id,
            "TRCIDR0": 0x080006E1 | self.commit_mode << 29,
            # Architecture 4.4: all that is tried here but Function Return and branch futures.
            "TRCIDR1": 0x4100F440,
            "TRCIDR2": (4 if self.m_profile else 8) | 0x80 * self.context_id | vmid | 8 << 25 | self.waits << 31,
            "TRCIDR8": self.max_speculation,
            "TRCIDR9": 0,
            "TRCIDR10": 0,
            "TRCIDR11": 0,
            "TRCIDR12": 0,
            "TRCIDR13": 0,
        }


class Setting(NamedTuple):
    """The processor's context."""

    level: int
    non_secure: bool
    wide: bool
    context_id: int
    vmid: int


def cases(portable: bool) -> "st.SearchStrategy[Case]":
    """Give hypothesis the cases; the simplest of each kind come first.

    :param portable: Whether OpenCSD is to read them too.
    """
    return st.builds(
        Case,
        seed=st.integers(0, (1 << 32) - 1),
        profile=st.sampled_from(PROFILES),
        blocks=st.integers(1, 100),
        max_speculation=st.sampled_from((0, 1, 4, 16)),
        commit_mode=st.integers(0, 1),
        threshold=st.sampled_from((None, 0, 4, 200)),
        return_stack=st.booleans(),
        broadcast=st.sampled_from((False, False, True)),
        context_id=st.booleans(),
        vmid_bytes=st.sampled_from((0, 1, 2, 4)),
        timestamps=st.booleans(),
        waits=st.booleans(),
        exceptions=st.booleans(),
        sync_period=st.sampled_from((0, 5, 20)),
        gaps=st.booleans(),
        losses=st.booleans(),
        unfinished=st.booleans(),
        cut=st.one_of(st.just(0), st.integers(0, 999)),
        portable=st.just(portable),
    ).map(_possible)


def _possible(case: Case) -> Case:
    # M-profile cores have no Context IDs and no VMIDs.
    if case.m_profile:
        case = case._replace(context_id=False, vmid_bytes=0)
    if case.portable and case.profile == "v8m":
        # OpenCSD up to 1.8.2 does not take an Armv8-M exception return for a P0 element.
        case = case._replace(max_speculation=0)
    return case
