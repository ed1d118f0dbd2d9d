"""``etm connect``, ``etm disconnect`` and ``etm info``."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, Iterable, Iterator, List, Optional, Sequence, Tuple

from gdb_etm.commands.declare import Argument, Command, Completion, Values
from gdb_etm.commands.parse import on, one_of
from gdb_etm.errors import CommandError, EtmError
from gdb_etm.profiles.library import load, own_lines, profiles
from gdb_etm.profiles.profile import Profile
from gdb_etm.program.attributes import profile_of
from gdb_etm.program.image import load_elf
from gdb_etm.session.numbers import count, hertz, size
from gdb_etm.session.programs import named_files
from gdb_etm.session.session import Session

if TYPE_CHECKING:
    from gdb_etm.coresight.topology import Choice
    from gdb_etm.session.connection import Live, Wishes

_BOARDS = ("board:m33", "board:m7", "board:m4", "board:a9")
_WITH_A_FULLER_UNIT = "board:m4"
_OWN = "target"
_MODES = ("attach", "halt", "pre-reset", "under-reset")
_NO_PROFILE = Profile("none", "", ())
_ADDRESS = re.compile(r"(\[[0-9a-fA-F:]+\]|[^:\s]*):(\d{1,5})\Z")


WHERE = Argument(
    "WHERE",
    str,
    "board:m33, m7, m4 or a9 (simulated) | HOST:PORT of gdb-etm serve | target (GDB's own)",
    choices=(*_BOARDS, _OWN),
)
ELF = Argument(
    "--elf",
    os.path.expanduser,
    "ELF file with the program; the simulated board starts with it",
    "FILE",
    completion=Completion.FILE,
    many=True,
)
PROBE = Argument("--probe", str, "the probe's unique id, or part of it", "UID")
TARGET = Argument("--target", str, "pyOCD's name of the chip; without it pyOCD finds out what it can", "NAME")
FREQUENCY = Argument("--frequency", hertz, "wire clock in Hz, such as 4M", "HZ")
MODE = Argument(
    "--mode",
    one_of(*_MODES),
    "attach (without halt or reset; the default for a probe) | halt | pre-reset | under-reset",
    "MODE",
    choices=_MODES,
)
UNIT = Argument("--unit", count, "which trace unit, where the chip has several", "N")
SINK = Argument("--buffer", count, "which trace buffer, where the chip has several", "N")
ETB_SIZE = Argument("--etb-size", size, "size of the simulated board's trace buffer, such as 4K", "BYTES")
TRUTH = Argument(
    "--truth",
    os.path.expanduser,
    "the simulated board writes there what really ran",
    "FILE",
    completion=Completion.FILE,
)
REGISTERS = Argument("--registers", on, "with --truth: the registers after every instruction, too", flag=True)
DATA_TRACE = Argument(
    "--data-trace", on, "board:m4 with a fuller trace unit in its place, one that traces loads and stores", flag=True
)
DAP_ONLY = Argument(
    "--dap-only", on, "reach the trace hardware alone; GDB stays on the server that runs the core", flag=True
)
PROFILE = Argument(
    "--profile",
    str,
    "what is known of the chip: a name, a file, or none; else the package's profile that has its ID",
    "NAME",
    completion=Completion.FILE,
    suggest=lambda session, before, word: ["none", *profiles()],
)
OPTION = Argument("--option", str, "a pyOCD session option; may be given more than once", "NAME=VALUE", many=True)


def run_connect(session: Session, values: Values) -> Iterator[str]:
    """Connect, find trace unit and buffer, and describe them."""
    from gdb_etm.coresight.topology import Choice
    from gdb_etm.session.connection import CONNECTED, over_debugger, over_process

    if session.live is not None:
        raise CommandError('connected to %s already. "etm disconnect" first' % session.live.name)
    session.tidy()
    where = values.get(WHERE) or ""
    _check(where, values)
    files = named_files(values.all(ELF))
    for name in files:
        load_elf(name)  # GDB takes the program of another processor, and then no target of ours
    yield from session.debugger.load_files(files)
    images = session.images()
    connection = session.debugger.connection()
    choice = Choice(unit=values.get(UNIT), sink=values.get(SINK))
    asked = values.get(PROFILE)
    profile = None if asked is None else _NO_PROFILE if asked == "none" else load(asked)
    alone = values.get(DAP_ONLY) is not None
    if where == _OWN or (not where and connection is not None and not alone):
        if not where:
            yield "GDB is connected already: using its connection"
        live = over_debugger(session.debugger)
    else:
        # A server that was started by hand tells only then whether it has a core for GDB.
        if connection is not None and not alone and not _ADDRESS.match(where):
            raise CommandError(CONNECTED % connection)
        reverse = session.settings.get("reverse") != "off"
        live = over_process(session.debugger, _wishes(where, values, files, reverse), session.progress)
    session.live = live
    yield live.title
    yield from _find(session, live, choice, profile)
    yield from live.greeting()
    if live.has_core:
        yield from _wrong_programs(session.debugger.program_files(), live.name)
    if where in _BOARDS and not alone and not files and not values.all(OPTION):
        yield 'the board\'s flash is blank: "load", then "monitor reset halt"'
    if where in _BOARDS and alone:
        yield from _alone_hints(files, values.all(OPTION))
    if not images:
        yield 'no program yet: "file PROGRAM" lets the trace be decoded'


def _find(session: Session, live: Live, choice: Choice, profile: Optional[Profile]) -> Iterator[str]:
    # Own profiles are told of all the more where one of them is what is missing.
    failure: Optional[EtmError] = None
    try:
        live.find(choice, profile)
    except EtmError as error:
        failure = error
    session.events.inputs = {} if live.profile is None else live.profile.inputs
    yield from own_lines(live.part_ids)
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


def run_disconnect(session: Session, values: Values) -> Iterator[str]:
    """End the connection."""
    name = session.tidy()
    if name is None:
        name = session.connected().name
        session.disconnect()
    yield "disconnected from %s; the captures stay at hand" % name


def run_info(session: Session, values: Values) -> Iterator[str]:
    """Describe the connection's trace unit and buffer."""
    yield from session.connected().info("v" in values.modifiers)
    if session.filters.filters:
        yield "filters: " + session.filters.text


def _check(where: str, values: Values) -> None:
    # What belongs to one way of connecting means nothing to another.
    address = _ADDRESS.match(where)
    if where and where not in (*_BOARDS, _OWN) and not address:
        raise CommandError('"%s" is none of: %s, HOST:PORT, %s' % (where, ", ".join(_BOARDS), _OWN))
    if address and not 0 < int(address.group(2)) < 65536:
        raise CommandError("%s: ports are numbered 1 to 65535" % where)
    _check_board(where, values)
    probe: Tuple[Argument[Any], ...] = (PROBE, TARGET, FREQUENCY, MODE)
    for argument in probe if where else ():
        if values.get(argument) is not None and not (where in _BOARDS and argument is MODE):
            raise CommandError("%s is for a debug probe: etm connect without %s" % (argument.name, where))
    if values.get(DAP_ONLY):
        if where not in ("", *_BOARDS):
            raise CommandError("--dap-only is for pyOCD started here: etm connect without %s" % where)
        if values.get(MODE) not in (None, "attach"):
            raise CommandError("--mode %s: --dap-only leaves the core as it is" % values.get(MODE))
    if values.all(OPTION) and where not in ("", *_BOARDS):
        raise CommandError("--option is for pyOCD started here: etm connect without %s" % where)


def _check_board(where: str, values: Values) -> None:
    board: Tuple[Argument[Any], ...] = (ETB_SIZE, TRUTH, REGISTERS)
    for argument in board if where not in _BOARDS else ():
        if values.get(argument) is not None:
            raise CommandError("%s is for the simulated board: etm connect %s" % (argument.name, _BOARDS[0]))
    if values.get(REGISTERS) and values.get(TRUTH) is None:
        raise CommandError("--registers goes with --truth FILE")
    if values.get(DATA_TRACE) and where != _WITH_A_FULLER_UNIT:
        raise CommandError("--data-trace is for the simulated board: etm connect %s" % _WITH_A_FULLER_UNIT)


def _wishes(where: str, values: Values, files: List[str], reverse: bool) -> Wishes:
    from gdb_etm.access.client import server_arguments
    from gdb_etm.session.connection import Wishes

    found = _ADDRESS.match(where) if where not in _BOARDS else None
    board: List[str] = []
    if where in _BOARDS:
        choices = (
            ("elf", files[0] if files else None),
            ("etb_size", values.get(ETB_SIZE)),
            ("truth", values.get(TRUTH)),
            ("truth_registers", 1 if values.get(REGISTERS) else None),
            ("data_trace", 1 if values.get(DATA_TRACE) else None),
        )
        board = ["board.%s=%s" % (name, value) for name, value in choices if value is not None]
    frequency, alone = values.get(FREQUENCY), values.get(DAP_ONLY) is not None
    return Wishes(
        server=(found.group(1).strip("[]") or "localhost", int(found.group(2))) if found else None,
        arguments=server_arguments(
            probe=where if where in _BOARDS else values.get(PROBE),
            target=values.get(TARGET),
            frequency=None if frequency is None else str(frequency),
            # A simulated board has just been switched on; nothing runs yet that could be attached to.
            connect_mode=None if alone else values.get(MODE) or ("under-reset" if where in _BOARDS else None),
            options=board + values.all(OPTION),
            dap_only=alone,
        ),
        reverse=reverse,
    )


CONNECT = Command(
    "connect",
    "Connect to a target with trace, and find its trace unit and buffer.",
    run_connect,
    details=(
        "Starts pyOCD beside GDB, connects GDB to it and looks for trace unit and buffer.  When GDB is connected to a\n"
        "server already, its connection is used: so Cortex-M trace works with OpenOCD, J-Link and others.  What is\n"
        'changed on the target is put back by "etm disconnect" and when GDB ends.\n'
        "pyOCD runs no Cortex-A or Cortex-R: there --dap-only reaches trace unit and buffer through the debug access\n"
        'port, while GDB is connected to whatever runs the core, or to nothing; then "etm stop" gives the capture.'
    ),
    arguments=(WHERE, ELF, PROBE, TARGET, FREQUENCY, MODE, DAP_ONLY, PROFILE, UNIT, SINK)
    + (ETB_SIZE, TRUTH, REGISTERS, DATA_TRACE, OPTION),
    examples=(
        ("connect", "the only debug probe, or GDB's own connection"),
        ("connect --target stm32h743xx --frequency 4M", "a probe, with pyOCD's name of the chip"),
        ("connect board:m33 --elf app.elf", "a simulated Cortex-M33"),
        ("connect localhost:3344", 'a "gdb-etm serve" that runs already'),
        ("connect board:a9 --dap-only --elf app.elf", "a simulated Cortex-A9"),
        ("connect --dap-only --unit 1", "the trace unit of a Zynq-7000's second Cortex-A9"),
    ),
)

DISCONNECT = Command(
    "disconnect",
    "Stop tracing, put the target's trace registers back and end the connection.",
    run_disconnect,
    examples=(("disconnect", "the program goes on as its server lets it"),),
)
