"""Inputs of recovery: states at the ends, RAM, call frame information."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import List, Optional, Sequence, Tuple

from gdb_etm.capture import MemoryImage
from gdb_etm.errors import ImageError
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.cfi import CallFrames, load_frames
from gdb_etm.program.image import Program, load_constants
from gdb_etm.program.isa import Isa
from gdb_etm.program.objects import Objects, load_objects
from gdb_etm.program.ram import Piece, load_writable, regions
from gdb_etm.protocols.profile import is_m_profile
from gdb_etm.recovery.recovery import Progress, Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import HaltedState
from gdb_etm.replay.reliance import Reliance
from gdb_etm.session.anchor import STACK_POINTERS, Anchor
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.halt_states import Anchored

_BIT_BAND = re.compile(r"cortex-m[34]\b", re.IGNORECASE)


def recovery_of(
    decoded: Decoded,
    files: Sequence[str],
    reliance: Reliance = Reliance(),
    progress: Optional[Progress] = None,
) -> Recovery:
    """Make the recovery of one core's history; it solves on demand.

    :param decoded: What is recovered.
    :param files: The ELF files of the program.
    :param reliance: How far to go.
    :param progress: Called now and then while it works, see :class:`~gdb_etm.recovery.recovery.Recovery`.
    """
    history, anchored = decoded.history, decoded.anchored
    rules = rules_of(anchored, history, files)
    return Recovery(
        history,
        anchored.after(history),
        anchored.before(history),
        reliance.rules(rules),
        halts=(*halted_states(anchored), *anchored.entered(history)),
        progress=progress,
    )


def has_a64(history: ExecutionHistory) -> bool:
    """Check for 64-bit code, whose values are not worked out."""
    # Few distinct runs make up a long history.
    runs = map(history.run, set(history.order))
    return any(executed.isa is Isa.A64 for run in runs for leg in run.legs for executed in leg.ranges)


def halted_states(anchored: Anchored) -> Tuple[HaltedState, ...]:
    """Give the core's states at the halts within a history."""
    return tuple(
        HaltedState(number, end.state() if end is not None else None, begin.state() if begin is not None else None)
        for number, end, begin in anchored.halts
    )


def rules_of(anchored: Anchored, history: ExecutionHistory, files: Sequence[str]) -> Rules:
    """Give the rules of a recovery, from core and program.

    A file leaves the memory map and the calling convention if it cannot be read, does not say it, or holds other code
    than the history's program: it may have been built again since.

    :param history: What is recovered.
    :param files: The ELF files that may be those of its program.
    """
    core = history.source.core
    files = [path for path in files if not _has_other_code(path, history.program)]
    anchors = [anchor for anchor in (anchored.begin, anchored.end) if anchor is not None]
    writable = _writable(files)
    stacks = [pointer for anchor in anchors for pointer in _stacks(anchor, writable)]
    ram = regions(writable, stacks, is_m_profile(core))
    frames, objects = frames_and_objects(files)
    has_aliases = core is not None and bool(_BIT_BAND.search(core.type))
    return Rules(
        ram=tuple(ram),
        bit_band=has_aliases,
        frames=frames,
        objects=objects,
        stacks=tuple(writable),
        untouched=anchored.is_whole and anchored.is_untouched,
        touched=anchored.touched,
    )


def _stacks(anchor: Anchor, writable: Sequence[Piece]) -> List[int]:
    # One that has left its memory leads to none; whether there is any is known where other memory was read.
    lowest = min([start for start, _ in writable], default=0)
    pointers = [anchor.registers.get(name, 0) for name in STACK_POINTERS]
    below = [one for one in pointers if 0 < one <= lowest and anchor.read((one - 1) & ~3, 4) is None]
    is_known = bool(below) and anchor.read(lowest & ~3, 4) is not None
    return [one for one in pointers if not (is_known and one in below)]


def frames_and_objects(files: Sequence[str]) -> Tuple[Optional[CallFrames], Optional[Objects]]:
    """Read what files hold, unless they are those that were read last.

    What is found out about a program is kept with its call frame information, from one halt to the next.
    """
    return _read(tuple(files), tuple([version_of(path) for path in files]))


def _has_other_code(path: str, program: Program) -> bool:
    try:
        code = load_constants(path, code=True)
    except ImageError:
        return False
    return any(_differs(image, start, data) for image in code for start, data in program.pieces)


def _differs(image: MemoryImage, start: int, data: bytes) -> bool:
    # Whether they hold other bytes where they overlap.
    first, end = max(start, image.address), min(start + len(data), image.address + len(image.data))
    held = image.data[first - image.address : end - image.address]
    return first < end and held != data[first - start : end - start]


@lru_cache(maxsize=1)
def _read(
    files: Tuple[str, ...], versions: Tuple[Tuple[int, ...], ...]
) -> Tuple[Optional[CallFrames], Optional[Objects]]:
    return _frames(files), _objects(files)


def version_of(path: str) -> Tuple[int, ...]:
    """Give what changes when a file is written again."""
    try:
        found = os.stat(path)
    except OSError:
        return ()
    return found.st_mtime_ns, found.st_size, found.st_ino


def _writable(files: Sequence[str]) -> List[Piece]:
    found: List[Piece] = []
    for path in files:
        try:
            found += load_writable(path)
        except ImageError:
            continue
    return found


def _frames(files: Sequence[str]) -> Optional[CallFrames]:
    try:
        frames = load_frames(files)
    except ImageError:
        return None
    return frames if len(frames) else None


def _objects(files: Sequence[str]) -> Optional[Objects]:
    try:
        objects = load_objects(files)
    except ImageError:
        return None
    return objects if len(objects) else None
