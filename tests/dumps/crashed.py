"""Boards that crash with the black box linked and no debugger.

And what a live session says of the same.
"""

from __future__ import annotations

import re
import tempfile
import time
from pathlib import Path
from typing import Dict, List, NamedTuple, Tuple

import gdb_etm
from gdb_etm.board.board import AnyBoard, make_board
from gdb_etm.board.options import BoardOptions
from tests.dumps.made import elf_core
from tests.firmware.blackbox.build import elf
from tests.firmware.build import symbol
from tests.gdb_session import run_gdb
from tests.openocd import board_with_pins, connect_commands, openocd

RAM, RAM_SIZE = 0x20000000, 0x8000
WAYS = {"call": 1, "load": 2, "stack": 3, "assertion": 4, "division": 5, "watchdog": 6, "trap": 7}
MTB_BOARDS = ("m0", "m23", "m33,mtb")
# Of instructions, long after the program hangs, if it heard by half of them what it is to do.
_BITES = 40000
WATCHDOG = "watchdog:%d" % _BITES
_PATIENCE = 20.0
# Times that a program is begun until its watchdog has come when it should.
_TIMES = 10
_NUMBERS = re.compile(r"#[0-9,]+|(?<=etm goto )[0-9]+")


class Crashed(NamedTuple):
    """What is left of a crash."""

    elf: str
    # All of the RAM that the program uses.
    ram: bytes
    registers: Dict[str, int]

    def core(self, folder: Path) -> str:
        """Write an ELF core file, and give its path."""
        path = folder / "crash.core"
        path.write_bytes(elf_core([(RAM, self.ram)], self.registers))
        return str(path)


def board_with(path: str, board: str, way: str, *faults: str) -> AnyBoard:
    """Give a board power, and ask its program for a crash."""
    made = make_board(BoardOptions(board, path, faults=faults))
    made.machine.write(symbol(path, "order"), 4, WAYS[way])
    return made


def until(made: AnyBoard, path: str, name: str, seconds: float = _PATIENCE) -> None:
    """Wait until a variable of the program is not 0."""
    end = time.monotonic() + seconds
    while not made.machine.read(symbol(path, name), 4):
        assert not made.machine.core.locked_up
        if time.monotonic() > end:
            raise TimeoutError(name)
        time.sleep(0.002)


def left(made: AnyBoard, path: str) -> Crashed:
    """Read what is left, as a debugger that comes later."""
    ram = made.machine.read_block(RAM, RAM_SIZE)
    return Crashed(path, ram, {"pc": made.machine.core.engine.pc & ~1})


def crash(level: str, board: str, way: str) -> Crashed:
    """Let a program crash with no debugger present."""
    path = elf(level, board)
    made = board_with(path, board, way)
    try:
        until(made, path, "finished_crashes")
        return left(made, path)
    finally:
        made.close()


def reset_by_watchdog(level: str, board: str) -> Crashed:
    """Let a watchdog reset a program that hangs, and is traced."""
    path = elf(level, board)
    # The watchdog may come before the program hangs, if it heard late what it is to do; then it is asked again.
    for _ in range(_TIMES):
        made = board_with(path, board, "watchdog", WATCHDOG)
        heard = made.machine.clock.now()
        try:
            until(made, path, "begun", _PATIENCE / _TIMES)
            if heard < _BITES / 2:
                return left(made, path)
        except TimeoutError:
            continue
        finally:
            made.close()
    raise TimeoutError("%s: no reset" % path)


def live(path: str, board: str, way: str) -> List[str]:
    """Say what "etm fault" says of the same in a live session.

    It runs to the black box's first instruction, or to where it begins again after a reset.
    """
    if board == "a9":
        return _live_a(path, way)
    unit = 1 if board == "m33,mtb" else None
    option = ["board.faults=" + WATCHDOG] if way == "watchdog" else []
    with gdb_etm.connect("board:" + board, elf=path, unit=unit, option=option) as session:
        port = session._runner._connected().port()
        port.write32(symbol(path, "order"), WAYS[way])
        session.command("start --buffer etm_blackbox_trace" if board in MTB_BOARDS else "start")
        if way == "watchdog":
            session.run_to("await", _PATIENCE)
            session.run_to("etm_blackbox_begin", _PATIENCE)
        else:
            session.run_to("*0x%x" % symbol(path, "etm_blackbox_fault"), _PATIENCE)
        return verdict(session.command("fault"))


def _live_a(path: str, way: str) -> List[str]:
    # GDB and OpenOCD, which control this core.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with board_with_pins(folder, "a9", "--elf", path) as config:
            with openocd(config) as server:
                commands = [*connect_commands(server, Path(path)), "etm connect target --dap-only", "etm start"]
                commands += ["set {int}&order=%d" % WAYS[way], "hbreak *etm_blackbox_abort", "continue"]
                output = run_gdb([*commands, "echo >>>\\n", "etm fault", "echo >>>\\n"])
    # GDB writes offsets of nothing.
    return verdict(output.split(">>>\n")[1].replace(", #0]", "]").splitlines())


def verdict(lines: List[str]) -> List[str]:
    """Take the numbers of instructions out of what "etm fault" says.

    The traces are not equally long.
    """
    return [" ".join(_NUMBERS.sub("#", line).split()) for line in lines]


def parts(ram: bytes) -> List[Tuple[int, bytes]]:
    """Cut RAM as dumps with several pieces have it."""
    return [(RAM, ram[:0x1234]), (RAM + 0x1234, ram[0x1234:])]
