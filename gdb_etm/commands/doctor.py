"""``etm doctor``: why is there no trace?"""

from __future__ import annotations

from typing import Iterator

from gdb_etm.commands.declare import Command, Values
from gdb_etm.commands.overview import standing
from gdb_etm.commands.parse import flag, path
from gdb_etm.errors import AccessError, CommandError
from gdb_etm.session.session import DebugSession

FIX = flag("--fix", "set right what can be set right from here, and say what")
BUNDLE = path("--bundle", "write everything that was seen since connecting into a file, for who is to help", "FILE")
REPLACE = flag("-f", "with --bundle: replace the file")
WITH_PROGRAM = flag("--with-program", "with --bundle: the program's bytes and the core's registers go with it")


def run_doctor(session: DebugSession, values: Values) -> Iterator[str]:
    """Check the path from processor to buffer, and repair it on request."""
    from gdb_etm.bundle.collect import kept_finding
    from gdb_etm.session.doctor import Doctor
    from gdb_etm.views.verdict import verdict_lines

    _check(session, values)
    yield standing(session)
    if session.connection is not None and values.get(FIX):
        yield from Doctor(session, session.connection).fix()
    bundle = values.get(BUNDLE)
    if bundle is not None:
        yield from bundle_lines(session, bundle, values)
        return
    doctor = Doctor(session, session.connected())
    yield from verdict_lines(map(kept_finding, doctor.findings()))
    if doctor.lost is not None:
        raise doctor.lost


def _check(session: DebugSession, values: Values) -> None:
    # With a bundle a connection that has ended will do.
    check_bundle_options(values)
    connection = session.connected() if values.get(BUNDLE) is None or session.gone is None else session.connection
    try:
        is_running = connection is not None and session.debugger.is_running()
    except AccessError:
        if values.get(BUNDLE) is None:
            raise
        return  # what was seen before it was lost is told all the same
    if connection is not None and is_running:
        if not connection.has_process:
            raise CommandError("the target runs, and nothing can be read through GDB meanwhile; halt it first (Ctrl-C)")
        if values.get(FIX):
            raise CommandError("the target runs; halt it first (Ctrl-C)")


def check_bundle_options(values: Values) -> None:
    """Check that what goes with a bundle comes with one.

    :raises CommandError: It does not.
    """
    if values.get(BUNDLE) is None and (values.get(WITH_PROGRAM) or values.get(REPLACE)):
        raise CommandError("--with-program and -f go with --bundle FILE")


def bundle_lines(session: DebugSession, name: str, values: Values) -> Iterator[str]:
    """Write a bundle, and say what is in it.

    :param name: The file.
    :raises CommandError: It cannot be written.
    """
    from gdb_etm.bundle.archive import check_place, write_bundle
    from gdb_etm.bundle.collect import bundle_of
    from gdb_etm.bundle.contents import listing
    from gdb_etm.bundle.privacy import Scrubber
    from gdb_etm.views.verdict import verdict_lines

    with_program = values.get(WITH_PROGRAM) is not None
    check_place(name, values.get(REPLACE) is not None)
    bundle = bundle_of(session, with_program)
    yield from verdict_lines(bundle.findings)
    yield "The bundle holds:"
    for line in listing(bundle, with_program):
        yield "  " + line
    size = write_bundle(bundle, name, Scrubber(session.debugger.program_files()))
    yield "Written: %s, %s bytes" % (name, format(size, ","))


DOCTOR = Command(
    "doctor",
    "Say why there is no trace.",
    run_doctor,
    details="Checks everything between processor and trace buffer, in that order.  Each line is one check, with the\n"
    "register that proves it; the line below a bad one says what to do.  Nothing is changed without --fix; its\n"
    'changes are undone by "etm disconnect", as all others.  While the target runs, registers are read\n'
    "if pyOCD owns the debug port.\n"
    "--bundle works after the connection was lost, too.  It lists what it writes: no program bytes, symbols or paths\n"
    "unless --with-program is given.",
    arguments=(FIX, BUNDLE, WITH_PROGRAM, REPLACE),
    examples=(
        ("doctor", 'before "etm start", while tracing, or after a halt without trace'),
        ("doctor --fix", "set right what can be, and look again"),
        ("doctor --bundle /tmp/board.etmb", 'write what "gdb-etm replay-bundle" repeats without your board'),
    ),
)
