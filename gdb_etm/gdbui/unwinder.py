"""Frames of the past whose stack pointer is not known.

GDB's own unwinder for code without call frame information reads the stack pointers, and the one for exceptions does,
too; where one is not available GDB refuses to step with "Register 13 is not available".  Such a frame gets a caller
at address 0 here, which is none: stepping goes on, and GDB looks no farther.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, List, NamedTuple, Optional, Tuple

import gdb
from gdb.unwinder import Unwinder, register_unwinder

from gdb_etm.errors import ImageError

if TYPE_CHECKING:
    from gdb_etm.program.cfi import CallFrames
    from gdb_etm.session.debugger import Debugger

_NEEDED = ("sp", "msp", "psp")
# From there on LR holds no address, but EXC_RETURN, which describes the frame that an exception pushed.
_NOWHERE = 0xFFFFFF00


class _FrameId(NamedTuple):
    # What GDB distinguishes frames by.
    sp: gdb.Value
    pc: gdb.Value


class UnknownStack(Unwinder):
    """Takes the frames that GDB's own unwinders would fail on.

    :param debugger: Gives what finds functions.
    """

    def __init__(self, debugger: Callable[[], Debugger]) -> None:
        super().__init__("etm")
        self.__debugger = debugger
        self.__frames: Tuple[List[str], Optional[CallFrames]] = ([], None)

    def __call__(self, pending: gdb.PendingFrame) -> Optional[gdb.UnwindInfo]:
        """Take a frame, or leave it to GDB."""
        if all(_is_known(pending, name) for name in _NEEDED):
            return None
        pc = _value(pending, "pc")
        if pc is None or pc < _NOWHERE and self.__has_row(pc):
            return None
        function = self.__debugger().function_at(pc)
        start = gdb.Value(pc if function is None else function.start)
        info = pending.create_unwind_info(_FrameId(gdb.Value(0), start))
        # GDB goes no farther than to a caller at address 0; without any it would refuse to step.
        info.add_saved_register("pc", gdb.Value(0).cast(pending.read_register("pc").type))
        return info

    def __has_row(self, address: int) -> bool:
        from gdb_etm.program.cfi import load_frames

        files = self.__debugger().program_files()
        if files != self.__frames[0]:
            try:
                self.__frames = files, load_frames(files)
            except ImageError:
                self.__frames = files, None
        frames = self.__frames[1]
        return frames is not None and frames.row(address) is not None


def _is_known(pending: gdb.PendingFrame, name: str) -> bool:
    # A register that the target does not have is not missed.
    try:
        value = pending.read_register(name)
    except (ValueError, gdb.error):
        return True
    return _int(value) is not None


def _value(pending: gdb.PendingFrame, name: str) -> Optional[int]:
    try:
        return _int(pending.read_register(name))
    except (ValueError, gdb.error):
        return None


def _int(value: gdb.Value) -> Optional[int]:
    try:
        return int(value) & 0xFFFFFFFF
    except gdb.error:
        return None


def register(debugger: Callable[[], Debugger]) -> None:
    """Register the unwinder before GDB's own."""
    register_unwinder(None, UnknownStack(debugger), replace=True)
