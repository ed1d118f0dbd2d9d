"""From a user's request to a connection."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Iterable, Iterator, List, Optional, Sequence, Tuple

from gdb_etm.errors import CommandError, EtmError
from gdb_etm.profiles.library import load, own_lines
from gdb_etm.profiles.profile import Profile
from gdb_etm.program.elf import profile_of
from gdb_etm.program.image import load_elf
from gdb_etm.session.disconnecting import drop_lost
from gdb_etm.session.numbers import check_number
from gdb_etm.session.programs import named_files
from gdb_etm.session.session import DebugSession

if TYPE_CHECKING:
    from gdb_etm.coresight.topology import Choice
    from gdb_etm.session.connection import TargetConnection
    from gdb_etm.session.opening import ProcessRequest

# The simulated boards: cores, and chips by their public documents.
CHIPS = (
    "stm32h743",
    "stm32h563",
    "lpc4330",
    "nrf5340",
    "imxrt1176",
    "rp2350",
    "stm32f407",
    "samv71",
    "ra6m4",
    "zynq7000",
)
_CORES = ("m33", "m7", "m4", "a9", "m0", "m23", "m33,mtb")
BOARDS = tuple("board:" + name for name in (*_CORES, *CHIPS))
_WITH_A_FULLER_UNIT = "board:m4"
OWN = "target"
MODES = ("attach", "halt", "pre-reset", "under-reset")
_NO_PROFILE = Profile("none", "", ())
_ADDRESS = re.compile(r"(\[[0-9a-fA-F:]+\]|[^:\s]*):(\d{1,5})\Z")


@dataclass(frozen=True)
class ConnectRequest:
    """What a user asks of a connection.

    What is None, False or empty is chosen by the one who connects.

    :raises CommandError: The mode is none of :data:`MODES`, or a number is negative.
    """

    # One of :data:`BOARDS`, HOST:PORT, :data:`OWN`; empty: a debug probe.
    where: str = ""
    # Paths of ELF files with the program.
    elf: Tuple[str, ...] = ()
    # The probe's unique id, or part of it.
    probe: Optional[str] = None
    # pyOCD's name of the chip.
    target: Optional[str] = None
    # Wire clock, in Hz.
    frequency: Optional[int] = None
    mode: Optional[str] = None
    # Reach the trace hardware alone.
    dap_only: bool = False
    # A profile's name, a file, or none.
    profile: Optional[str] = None
    # Which trace unit, from 0.
    unit: Optional[int] = None
    # Which trace buffer, from 0.
    buffer: Optional[int] = None
    # Bytes of the simulated board's trace buffer.
    etb_size: Optional[int] = None
    # File in which the simulated board writes what ran.
    truth: Optional[str] = None
    # The registers after every instruction, too.
    registers: bool = False
    # A fuller trace unit of the simulated board m4.
    data_trace: bool = False
    # pyOCD session options, each NAME=VALUE.
    option: Tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.mode is not None and self.mode not in MODES:
            raise CommandError('mode: "%s" is none of: %s' % (self.mode, ", ".join(MODES)))
        check_number("frequency", self.frequency)
        check_number("unit", self.unit)
        check_number("buffer", self.buffer)
        check_number("etb_size", self.etb_size)


def connect(session: DebugSession, request: ConnectRequest) -> Iterator[str]:
    """Connect, find trace unit and buffer, and describe them.

    :raises CommandError: There is a connection already, or the request makes no sense.
    :raises ConnectError: No probe, no target, no pyOCD; or what listens there is another program.
    :raises TopologyError: No trace unit leads to a trace buffer.
    :raises EtmError: Trace unit or buffer cannot be used, or a file cannot be read.
    """
    from gdb_etm.coresight.topology import Choice
    from gdb_etm.session.opening import CONNECTED, over_debugger, over_monitor, over_process

    if session.connection is not None:
        raise CommandError('connected to %s already. "etm disconnect" first' % session.connection.name)
    drop_lost(session)
    where, alone = request.where, request.dap_only
    _check(request)
    files = named_files(request.elf)
    for name in files:
        load_elf(name)  # GDB takes the program of another processor, and then no target of ours
    yield from session.debugger.load_files(files)
    images = session.images()
    of_debugger = session.debugger.connection()
    choice = Choice(unit=request.unit, sink=request.buffer)
    profile = None
    if request.profile is not None:
        profile = _NO_PROFILE if request.profile == "none" else load(request.profile)
    if where == OWN and alone:
        connection = over_monitor(session.debugger)
    elif where == OWN or (not where and of_debugger is not None and not alone):
        if not where:
            yield "GDB is connected already: using its connection"
        connection = over_debugger(session.debugger, session.settings.get("reverse") != "off")
    else:
        # A server that was started by hand says only when connected whether it has a core for GDB.
        if of_debugger is not None and not alone and not _ADDRESS.match(where):
            raise CommandError(CONNECTED % of_debugger)
        reverse = session.settings.get("reverse") != "off"
        connection = over_process(session, _process_request(request, files, reverse))
    session.connection = connection
    yield connection.title
    yield from _find(session, connection, choice, profile)
    yield from connection.greeting()
    if connection.has_core:
        yield from _wrong_programs(session.debugger.program_files(), connection.name)
    if where in BOARDS and not alone and not files and not request.option:
        yield 'the board\'s flash is blank: "load", then "monitor reset halt"'
    if where in BOARDS and alone:
        yield from _alone_hints(files, request.option)
    if not images:
        yield 'no program yet: "file PROGRAM" lets the trace be decoded'


def _find(
    session: DebugSession, connection: TargetConnection, choice: Choice, profile: Optional[Profile]
) -> Iterator[str]:
    # Own profiles are listed even after a failure: one of them may be what is missing.
    failure: Optional[EtmError] = None
    try:
        connection.find(choice, profile)
    except EtmError as error:
        failure = error
    session.events.inputs = {} if connection.profile is None else connection.profile.inputs
    yield from own_lines(connection.part_ids)
    if failure is not None:
        raise failure


def _alone_hints(files: Sequence[str], options: Sequence[str]) -> Iterator[str]:
    # Nobody controls the core of a board that is reached by its access ports alone.
    if not files:
        yield "the board's memory is blank: --elf PROGRAM goes into it at power-up"
    elif not any(option.startswith("board.hold=") for option in options):
        yield 'the board\'s core runs from power-up on; "--option board.hold=1" keeps it until "etm start"'


def _wrong_programs(files: Iterable[str], name: str) -> Iterator[str]:
    # GDB controls no other core than an M profile's, and that has Thumb alone.
    for path in files:
        profile = profile_of(path)
        if profile in ("A", "R"):
            yield "%s is built for a Cortex-%s: a %s does not run it" % (os.path.basename(path), profile, name)


def _check(request: ConnectRequest) -> None:
    # Refuses the options of another way of connecting.
    where = request.where
    address = _ADDRESS.match(where)
    if where and where not in (*BOARDS, OWN) and not address:
        raise CommandError('"%s" is none of: %s, HOST:PORT, %s' % (where, ", ".join(BOARDS), OWN))
    if address and not 0 < int(address.group(2)) < 65536:
        raise CommandError("%s: ports are numbered 1 to 65535" % where)
    _check_board(request)
    probe = (("probe", request.probe), ("target", request.target), ("frequency", request.frequency))
    mode = () if where in BOARDS else (("mode", request.mode),)
    for name, value in (*probe, *mode) if where else ():
        if value is not None:
            raise CommandError("--%s is for a debug probe: etm connect without %s" % (name, where))
    if request.dap_only:
        if where not in ("", OWN, *BOARDS):
            raise CommandError("--dap-only is for pyOCD started here, or for target: etm connect without %s" % where)
        if request.mode not in (None, "attach"):
            raise CommandError("--mode %s: --dap-only leaves the core as it is" % request.mode)
    if request.option and where not in ("", *BOARDS):
        raise CommandError("--option is for pyOCD started here: etm connect without %s" % where)


def _check_board(request: ConnectRequest) -> None:
    board = (("etb-size", request.etb_size), ("truth", request.truth), ("registers", request.registers or None))
    for name, value in board if request.where not in BOARDS else ():
        if value is not None:
            raise CommandError("--%s is for the simulated board: etm connect %s" % (name, BOARDS[0]))
    if request.registers and request.truth is None:
        raise CommandError("--registers goes with --truth FILE")
    if request.data_trace and request.where != _WITH_A_FULLER_UNIT:
        raise CommandError("--data-trace is for the simulated board: etm connect %s" % _WITH_A_FULLER_UNIT)


def _process_request(request: ConnectRequest, files: List[str], reverse: bool) -> ProcessRequest:
    from gdb_etm.access.process import server_arguments
    from gdb_etm.session.opening import ProcessRequest

    where, alone = request.where, request.dap_only
    found = _ADDRESS.match(where) if where not in BOARDS else None
    board: List[str] = []
    if where in BOARDS:
        choices = (
            ("elf", files[0] if files else None),
            ("etb_size", request.etb_size),
            ("truth", request.truth),
            ("truth_registers", 1 if request.registers else None),
            ("data_trace", 1 if request.data_trace else None),
        )
        board = ["board.%s=%s" % (name, value) for name, value in choices if value is not None]
    return ProcessRequest(
        server=(found.group(1).strip("[]") or "localhost", int(found.group(2))) if found else None,
        arguments=server_arguments(
            probe=where if where in BOARDS else request.probe,
            target=request.target,
            frequency=None if request.frequency is None else str(request.frequency),
            # A simulated board has just been switched on; nothing runs yet that could be attached to.
            connect_mode=None if alone else request.mode or ("under-reset" if where in BOARDS else None),
            options=board + list(request.option),
            dap_only=alone,
        ),
        reverse=reverse,
    )
