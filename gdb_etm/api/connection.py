"""Sessions for scripts: new ones, and the one of GDB's commands."""

from __future__ import annotations

import os
from typing import Optional, Sequence, Union

from gdb_etm.api.files import Files, paths
from gdb_etm.api.inside import commands_session, gdb_runner, is_inside
from gdb_etm.api.session import Session
from gdb_etm.api.target import ScriptDebugger
from gdb_etm.errors import CommandError, EtmError
from gdb_etm.offline.locations import ElfLocations
from gdb_etm.session import connecting
from gdb_etm.session import session as commands
from gdb_etm.session.connecting import ConnectRequest


def connect(
    where: str = "",
    *,
    elf: Files = (),
    probe: Optional[str] = None,
    target: Optional[str] = None,
    frequency: Optional[int] = None,
    mode: Optional[str] = None,
    dap_only: bool = False,
    profile: Optional[str] = None,
    unit: Optional[int] = None,
    buffer: Optional[int] = None,
    etb_size: Optional[int] = None,
    truth: Optional[str] = None,
    registers: bool = False,
    data_trace: bool = False,
    option: Union[str, Sequence[str]] = (),
) -> Session:
    """Connect to a target with trace, as ``etm connect`` does.

    pyOCD runs in a process beside this one, which ends with the session; the target then runs on with its registers
    as they were.  Inside GDB the session is that of the ``etm`` commands, and GDB runs the core.

    :param where: ``"board:m33"``, m7, m4, a9 or m0 (simulated); ``"HOST:PORT"`` of ``gdb-etm serve``; empty: a probe;
        inside GDB also ``"target"``, GDB's own connection.
    :param elf: ELF files with the program.
    :param probe: The probe's unique id, or part of it.
    :param target: pyOCD's name of the chip; None: what it can find out.
    :param frequency: Wire clock, in Hz.
    :param mode: ``"attach"`` (without halt or reset; the default for a probe), ``"halt"``, ``"pre-reset"`` or
        ``"under-reset"``.
    :param dap_only: Reach the trace hardware alone; nobody runs the core from here.
    :param profile: What is known of the chip: a profile's name, a file, or ``"none"``; None: a profile that has the
        chip's ID, if any does.
    :param unit: Which trace unit, from 0, where the chip has several.
    :param buffer: Which trace buffer, from 0, where the chip has several.
    :param etb_size: Size of the simulated board's trace buffer, in bytes.
    :param truth: File in which the simulated board writes what really ran.
    :param registers: That file also has the registers after every instruction.
    :param data_trace: The simulated board m4 with a fuller trace unit.
    :param option: pyOCD session options, each ``"NAME=VALUE"``.
    :returns: The session, to be closed or used in a ``with`` statement.
    :raises ConnectError: No probe, no target, no pyOCD; or what listens there is another program.
    :raises TopologyError: No trace unit leads to a trace buffer.
    :raises EtmError: Trace unit or buffer cannot be used, or a file cannot be read.
    """
    request = ConnectRequest(
        where=where,
        elf=paths(elf),
        probe=probe,
        target=target,
        frequency=frequency,
        mode=mode,
        dap_only=dap_only,
        profile=profile,
        unit=unit,
        buffer=buffer,
        etb_size=etb_size,
        truth=None if truth is None else os.path.expanduser(truth),
        registers=registers,
        data_trace=data_trace,
        option=(option,) if isinstance(option, str) else tuple(option),
    )
    if is_inside():
        list(connecting.connect(commands_session(), request))
        return current()
    debugger = ScriptDebugger()
    session = commands.DebugSession(debugger)
    session.locations = ElfLocations(debugger)
    # There is no GDB that could walk back, and so nothing that would tell the proxy for it of runs.
    session.settings["reverse"] = "off"
    try:
        list(connecting.connect(session, request))
    except (EtmError, KeyboardInterrupt):
        if session.connection is not None:
            session.connection.close()
        raise
    return Session(session, debugger)


def current() -> Session:
    """Give the session that GDB's ``etm`` commands work on, connected or not.

    :raises CommandError: This is not inside GDB.
    """
    if not is_inside():
        raise CommandError("there is no session of commands outside GDB; connect() opens one")
    return Session(commands_session(), gdb_runner())
