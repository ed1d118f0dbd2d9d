"""Crashing programs on the boards, recovered and compared with the truth."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Dict, List, NamedTuple, Optional, Tuple

from pyocd.core.session import Session
from pyocd.core.target import Target
from pyocd.probe.aggregator import DebugProbeAggregator

from gdb_etm.board.bus import RAM_BASE, RAM_SIZE
from gdb_etm.capture import Core
from gdb_etm.coresight.poll import Deadline
from gdb_etm.coresight.special import SpecialRegisters
from gdb_etm.coresight.topology import find_path
from gdb_etm.history.build import build
from gdb_etm.history.store import ExecutionHistory
from gdb_etm.program.cfi import load_frames
from gdb_etm.program.image import Program, load_elf
from gdb_etm.program.objects import load_objects
from gdb_etm.program.ram import load_writable, regions
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.recovery.rules import Rules
from gdb_etm.recovery.values import CoreState, Tier
from gdb_etm.traceunit.options import TraceOptions
from gdb_etm.traceunit.session import TraceSession
from tests.firmware.build import symbol
from tests.firmware.crashes.build import elf, ways
from tests.recovery.truth import CORES
from tests.traceunit.live import Live

NAMES = (*("r%d" % number for number in range(13)), "sp", "lr")
# What the debugger reads of a core, and the truth tells.
WHOLE = (*NAMES, "msp", "psp", "control", "primask", "basepri", "faultmask")
# CONTROL of a thread on its own stack, with privileges and without.
PROCESS, UNPRIVILEGED = 2, 3
# SHCSR: UsageFault, BusFault and MemManage have their own handlers.
ALL_FAULTS = 0x70000
# Where the boards have no memory.
NOTHING = 0x30000000
_SECONDS = 30
_BUFFER = 1 << 11


class Crash(NamedTuple):
    """How a program is to crash."""

    board: str
    # One of tests.firmware.crashes.build.ways().
    way: str
    # Of the thread that crashes.
    control: int = 0
    # SHCSR: which faults have their own handlers.
    enabled: int = 0
    program: str = "integers"
    # Whether the debugger halts the core where HardFault begins; otherwise it runs on to a BKPT, or locks up.
    catch: bool = True


class Halt(NamedTuple):
    """A crash that was traced."""

    crash: Crash
    history: ExecutionHistory
    registers: Dict[str, int]
    ram: bytes
    # The instructions that ran: their addresses, and the registers before each; of the halt, 0 and the registers.
    truth: Tuple[Tuple[int, Dict[str, int]], ...]
    # How many instructions ran behind those of the history.
    hidden: int
    locked_up: bool

    @property
    def told(self) -> Tuple[Tuple[int, Dict[str, int]], ...]:
        """The truth of the history's instructions, and of what came next."""
        end = len(self.truth) - self.hidden
        return self.truth[end - len(self.history) - 1 : end]

    def recovery(self, limit: Tier = Tier.ASSUMED) -> Recovery:
        """Make the recovery that a user is given."""
        path = elf(self.crash.program)
        writable = load_writable(path)
        stacks = [self.registers[name] for name in ("sp", "msp", "psp")]
        rules = Rules(
            limit=limit,
            ram=tuple(regions(writable, stacks, True)),
            frames=load_frames([path]),
            objects=load_objects([path]),
            stacks=tuple(writable),
            bit_band=self.crash.board == "m4",
        )
        return Recovery(self.history, CoreState(self.registers, self.read), rules=rules)

    def read(self, address: int, size: int) -> Optional[bytes]:
        """Read RAM as it was at the halt."""
        offset = address - RAM_BASE
        return self.ram[offset : offset + size] if 0 <= offset <= len(self.ram) - size else None


class Comparison(NamedTuple):
    """Recovered r0 to r12, sp and lr, compared with the truth."""

    asked: int
    # By tier, best first.
    known: Tuple[int, ...]
    wrong: List[str]

    def percent(self, tier: Tier) -> float:
        """Return the percentage known at a tier or better."""
        return 100 * sum(self.known[: tier + 1]) / self.asked


def halt_of(crash: Crash, folder: Path) -> Halt:
    """Run a program until it has crashed, with the trace unit on.

    :param folder: Where the truth is put.
    """
    truth, path = folder / "truth", elf(crash.program)
    (probe,) = DebugProbeAggregator.get_all_connected_probes(unique_id="board:" + crash.board)
    options = {"elf": path, "truth": str(truth), "truth_registers": 1, "etb_size": _BUFFER}
    settings = {"board." + name: value for name, value in options.items()}
    with Session(probe, options={"connect_mode": "halt", "warning.cortex_m_default": False, **settings}) as session:
        live = Live(session)
        live.core.reset_and_halt()
        live.core.set_vector_catch(Target.VectorCatch.HARD_FAULT if crash.catch else 0)
        order = symbol(path, "order")
        for index, word in enumerate((ways()[crash.way], crash.enabled, crash.control)):
            live.port.write32(order + 4 * index, word)
        core = Core("cpu_0", CORES[crash.board], {})
        tracing = TraceSession(find_path(live.discover().components), core, Deadline())
        tracing.attach()
        tracing.start(TraceOptions())
        live.core.resume()
        locked_up = _wait(live) is Target.State.LOCKUP
        if locked_up:
            live.core.halt()
        registers = _registers(live, crash.program == "floats")
        ram = bytes(live.core.read_memory_block8(RAM_BASE, RAM_SIZE))
        (history,) = build(tracing.drain(crash.way), Program(load_elf(path))).values()
        # The program goes on when the session ends.
        told = _truth(truth)
    return Halt(crash, history, registers, ram, tuple(told), _hidden(told, history), locked_up)


def _hidden(truth: List[Tuple[int, Dict[str, int]]], history: ExecutionHistory) -> int:
    # How many instructions ran behind the last one of the history: as few as may be.
    last = history.instruction(len(history)).address
    return next(number for number in range(len(truth) - 1) if truth[-2 - number][0] == last)


def _wait(live: Live) -> Target.State:
    end = time.monotonic() + _SECONDS
    while time.monotonic() < end:
        state = live.core.get_state()
        if state in (Target.State.HALTED, Target.State.LOCKUP):
            return state
        time.sleep(0.005)
    raise AssertionError("the program does not crash")


def _registers(live: Live, floats: bool) -> Dict[str, int]:
    # As a session has them.
    names = [*WHOLE, "pc", "xpsr"]
    names += ["fpscr", *("s%d" % number for number in range(32))] if floats else []
    found = {name: int(live.core.read_core_register_raw(name)) for name in names}
    special = SpecialRegisters(live.port)
    return {**special.missing(found), **special.status(), **found}


def _truth(path: Path) -> List[Tuple[int, Dict[str, int]]]:
    # Each executed address with the registers before it, and the registers at the end.
    found: List[Tuple[int, Dict[str, int]]] = []
    now: Dict[str, int] = {}
    for line in path.read_text("ascii").splitlines():
        if line.startswith("registers"):
            changed = (word.split("=") for word in line.split()[1:])
            now = {**now, **{name: int(value, 16) for name, value in changed}}
        elif line.startswith("0x"):
            found.append((int(line[:10], 16), now))
    return [*found, (0, now)]


def compare(halt: Halt, recovery: Recovery) -> Comparison:
    """Hold what is recovered against the truth."""
    count = len(halt.history)
    wrong: List[str] = []
    known = [0] * len(Tier)
    for number, (_, true) in enumerate(halt.told, 1):
        for name in NAMES:
            value = recovery.register(number, name)
            if value.value is None:
                continue
            known[value.tier] += 1
            if value.value != true[name]:
                wrong.append(
                    "%s before #%d: %#x, not %#x (%s)"
                    % (name, number, value.value, true[name], value.tier.name.lower())
                )
    return Comparison((count + 1) * len(NAMES), tuple(known), wrong)
