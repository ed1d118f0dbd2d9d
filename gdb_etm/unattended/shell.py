"""``gdb-etm run``: a script's runs and checks."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from types import FrameType
from typing import List, Optional, Sequence

from gdb_etm.errors import CommandError, EtmError
from gdb_etm.files import through_own_links
from gdb_etm.unattended.document import result_document, run_object
from gdb_etm.unattended.figures import CheckOutcome
from gdb_etm.unattended.junit import junit_text
from gdb_etm.unattended.runs import INTERRUPTED, RunRecord, ScriptResult, ScriptRuns
from gdb_etm.unattended.script import read_script
from gdb_etm.unattended.text import check_lines, run_line
from gdb_etm.views.schema import document

_NOT_PASSED, _NOT_RUN, _STOPPED = 1, 2, 130
_EPILOG = (
    "exit status: 0 all passed; 1 a check failed or is uncertain, or a run did not end where it should; "
    '2 the script cannot be read or the target not be used; 130 Ctrl-C.  The guide: "gdb-etm guide unattended".'
)


def main(words: Sequence[str]) -> int:
    """Run a script.

    :returns: The exit status.
    """
    arguments = _parser().parse_args(words)
    # A test server ends what takes too long so; the target is put back then too.
    signal.signal(signal.SIGTERM, _stop)
    try:
        script = read_script(arguments.script)
        if arguments.output is not None:
            os.makedirs(arguments.output, exist_ok=True)
        tell = {"text": _tell_text, "json": _tell_nothing, "jsonl": _tell_line}[arguments.format]
        result = ScriptRuns(script, arguments.output, tell).execute()
        _write(result, arguments.output, arguments.junit)
    except EtmError as error:
        print("gdb-etm: %s" % error, file=sys.stderr)
        return _NOT_RUN
    except OSError as error:
        print("gdb-etm: %s: %s" % (error.filename, error.strerror), file=sys.stderr)
        return _NOT_RUN
    if arguments.format == "text":
        print("\n".join(check_lines(result)))
    else:
        print(json.dumps(result_document(result)))
    return _status(result)


def _status(result: ScriptResult) -> int:
    if result.error:
        return _STOPPED if result.error == INTERRUPTED else _NOT_RUN
    return 0 if result.outcome is CheckOutcome.PASSED else _NOT_PASSED


def _stop(number: int, frame: Optional[FrameType]) -> None:
    raise KeyboardInterrupt


def _tell_text(run: RunRecord) -> None:
    print(run_line(run), flush=True)


def _tell_line(run: RunRecord) -> None:
    print(json.dumps(document("run-ended", run_object(run))), flush=True)


def _tell_nothing(run: RunRecord) -> None:
    pass


def _write(result: ScriptResult, folder: Optional[str], junit: Optional[str]) -> None:
    wanted: List[str] = [] if junit is None else [junit]
    if folder is not None:
        wanted.append(os.path.join(folder, "junit.xml"))
        _write_text(os.path.join(folder, "result.json"), json.dumps(result_document(result), indent=1) + "\n")
    for path in wanted:
        _write_text(path, junit_text(result))


def _write_text(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8", opener=through_own_links) as file:
            file.write(text)
    except OSError as error:
        raise CommandError("cannot write %s: %s" % (path, error.strerror)) from error


def _parser() -> argparse.ArgumentParser:
    about = "run a program on a target as a script says, several times, and check what the trace shows"
    parser = argparse.ArgumentParser(prog="gdb-etm run", description=about, epilog=_EPILOG)
    parser.add_argument("script", metavar="SCRIPT.toml", help="target, trace, runs and checks")
    about = "folder for junit.xml and result.json, and for report and snapshot of each run that goes wrong"
    parser.add_argument("-o", "--output", metavar="DIR", help=about)
    parser.add_argument("--junit", metavar="FILE", help="write the result for a test server")
    parser.add_argument("--format", choices=("text", "json", "jsonl"), default="text", help="what is printed")
    return parser
