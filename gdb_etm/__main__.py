"""The shell's way in: ``gdb-etm COMMAND``, also as ``python -m gdb_etm COMMAND``."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from functools import partial
from importlib import import_module
from io import TextIOWrapper
from itertools import chain, islice
from typing import TYPE_CHECKING, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.capture import RawCapture
from gdb_etm.errors import CommandError, EtmError, harmless
from gdb_etm.views.schema import FORMATS, document, document_lines, row_lines

if TYPE_CHECKING:
    # At run time each command imports what it needs, so that "--help" is quick.
    from gdb_etm.commands.declare import Command, Values
    from gdb_etm.history.build import SourceStream
    from gdb_etm.history.store import ExecutionHistory
    from gdb_etm.protocols.packet import Packet
    from gdb_etm.session.progress import Meter
    from gdb_etm.session.ranges import NumberRange
    from gdb_etm.session.session import DebugSession

    _Commands = argparse._SubParsersAction[argparse.ArgumentParser]

_LINES_AT_ONCE = 4096


def _captures(arguments: argparse.Namespace) -> List[RawCapture]:
    # The snapshot's buffers that can be decoded; any other one when there is none, so that decoding says why not.
    from gdb_etm.protocols.registry import PROTOCOLS
    from gdb_etm.session.saved import read_captures

    captures = read_captures(arguments.snapshot, arguments.elf, arguments.buffer)
    decodable = [one for one in captures if any(source.protocol in PROTOCOLS for source in one.sources)]
    return decodable or captures[:1]


def _each(make: Callable[[argparse.Namespace], Iterator[str]], arguments: argparse.Namespace) -> Iterator[str]:
    # One buffer after the other; one that cannot be decoded does not stop the others.
    captures = _captures(arguments)
    arguments.notes = list(captures[0].notes)
    if len(captures) == 1:
        arguments.capture = captures[0]
        yield from make(arguments)
        return
    if arguments.command in _OF_ONE or arguments.format == "json":
        names = ", ".join(capture.name.rpartition(" ")[2] for capture in captures)
        raise CommandError("%s is of one buffer: --buffer with one of %s" % (arguments.command, names))
    for capture in captures:
        arguments.capture = capture
        name = document_lines(document("buffer", {"name": capture.name}), "jsonl")
        yield next(name) if arguments.format == "jsonl" else capture.name
        try:
            yield from make(arguments)
        except EtmError as error:
            arguments.notes.append("%s: %s" % (capture.name, error))


def _meter() -> Meter:
    from gdb_etm.session.progress import Meter, TerminalLine

    return Meter(TerminalLine(sys.stderr))


def _histories(arguments: argparse.Namespace) -> Dict[int, ExecutionHistory]:
    from gdb_etm.session.saved import histories_of

    return histories_of(arguments.capture, _meter(), arguments.id)


def _streams(arguments: argparse.Namespace) -> List[SourceStream]:
    from gdb_etm.session.saved import streams_of

    return streams_of(arguments.capture, _meter(), arguments.id)


def _window(arguments: argparse.Namespace, length: int, what: str) -> NumberRange:
    # The numbers that objects are wanted of.
    from gdb_etm.session.ranges import NumberRange, window

    if not arguments.words:
        return NumberRange(1, length)
    if arguments.words[0].startswith("/"):
        raise CommandError("%s is for text; JSON objects hold everything" % arguments.words[0])
    return window(" ".join(arguments.words), length, None, None, what)


def _packet_objects(arguments: argparse.Namespace) -> Iterator[str]:
    from gdb_etm.session.packet_listing import packets_of
    from gdb_etm.views.elements import packet_object

    found: Iterable[Tuple[int, Packet]] = packets_of(_streams(arguments))
    if arguments.words:
        kept = list(found)
        shown = _window(arguments, len(kept), "packets")
        found = kept[shown.first - 1 : shown.last]
    objects = (packet_object(trace_id, packet) for trace_id, packet in found)
    yield from row_lines(arguments.command, objects, arguments.format)


def _packets(arguments: argparse.Namespace) -> Iterator[str]:
    from gdb_etm.session.packet_listing import are_several, packets_of
    from gdb_etm.views.packets import packet_lines

    if arguments.words:
        yield from _session_lines(arguments)
        return
    # All of them: there is no need to count them first.
    chosen = _streams(arguments)
    yield from packet_lines(packets_of(chosen), 1, are_several(chosen))


def _elements(arguments: argparse.Namespace) -> Iterator[str]:
    from gdb_etm.protocols.garbage import garbage_uncollected
    from gdb_etm.views.elements import element_object, element_rows, element_text, end_object

    capture: RawCapture = arguments.capture
    histories = _histories(arguments)
    if arguments.format == "none":
        return
    rows = element_rows(histories)
    if arguments.id is not None:
        rows = (row for row in rows if row[1] == arguments.id)
    with garbage_uncollected():
        if arguments.format == "text":
            yield from (element_text(trace_id, offset, element) for offset, trace_id, element in rows)
            return
        objects = (element_object(trace_id, offset, element) for offset, trace_id, element in rows)
        ends = (end_object(trace_id, len(capture.buffer)) for trace_id in histories)
        yield from row_lines(arguments.command, chain(objects, ends), arguments.format)


def _history_objects(arguments: argparse.Namespace) -> Iterator[str]:
    from gdb_etm.commands.listing_objects import instruction_text, instruction_words
    from gdb_etm.offline.debugger import OfflineDebugger
    from gdb_etm.views.elements import history_objects

    debugger = OfflineDebugger(arguments.elf)
    words = instruction_words(debugger)
    histories = _histories(arguments)
    if len(histories) > 1 and (arguments.words or arguments.format == "json"):
        names = ", ".join("0x%02x" % trace_id for trace_id in histories)
        raise CommandError("a range is of one trace ID: --id with one of %s" % names)
    for trace_id, history in histories.items():
        shown = _window(arguments, len(history), "instructions")
        rows = history_objects(trace_id, history, shown, words, instruction_text(debugger, history))
        yield from row_lines(arguments.command, rows, arguments.format)


def _session(arguments: argparse.Namespace) -> DebugSession:
    # A snapshot in the place of a target; everything is listed by default.
    from gdb_etm.offline.debugger import OfflineDebugger
    from gdb_etm.offline.locations import ElfLocations
    from gdb_etm.session.session import DebugSession

    debugger = OfflineDebugger(arguments.elf)
    session = DebugSession(debugger, _meter())
    session.locations = ElfLocations(debugger)
    session.settings.update({"history-size": "unlimited", "function-call-history-size": "unlimited"})
    session.add(arguments.capture, "loaded from " + arguments.snapshot, is_live=False)
    return session


def _parsed(arguments: argparse.Namespace) -> Tuple[DebugSession, Command, Values]:
    # GDB's command of the same name.
    from gdb_etm.commands.parse import parse, words_of
    from gdb_etm.commands.registry import command_named

    session = _session(arguments)
    command = command_named(arguments.command)
    words = [] if arguments.id is None else ["--id", "%d" % arguments.id]
    typed: List[str] = list(getattr(arguments, "words", ()))
    if arguments.command == "info":
        words += ["--at", "%d" % arguments.at]
        typed = typed or ["registers"]
    if arguments.command in _AT_FIRST and len(typed) > 1 and typed[0].isdigit():
        words += ["--at", typed.pop(0)]
    for option, metavar, _ in _OPTIONS.get(arguments.command, ()):
        value = getattr(arguments, option[2:])
        words += [] if not value else ["%s=%s" % (option, value)] if metavar else [option]
    words += words_of(command, " ".join(typed)) if command.is_raw else typed
    return session, command, parse(command, words)


def _session_lines(arguments: argparse.Namespace) -> Iterator[str]:
    session, command, values = _parsed(arguments)
    yield from command.run(session, values)


def _value_object(arguments: argparse.Namespace) -> Iterator[str]:
    from gdb_etm.commands.value_objects import OBJECTS

    session, command, values = _parsed(arguments)
    yield from document_lines(OBJECTS[command.name](session, values), arguments.format)


class _Listing(NamedTuple):
    summary: str
    text: Callable[[argparse.Namespace], Iterator[str]]
    objects: Optional[Callable[[argparse.Namespace], Iterator[str]]]
    formats: Tuple[str, ...]


_LISTINGS: Dict[str, _Listing] = {
    "packets": _Listing("list a snapshot's trace packets", _packets, _packet_objects, FORMATS),
    "elements": _Listing("list what the packets say", _elements, _elements, (*FORMATS, "none")),
    "history": _Listing("list the executed instructions", _session_lines, _history_objects, FORMATS),
    "budget": _Listing("say what the buffer is spent on", _session_lines, _value_object, FORMATS),
    "functions": _Listing("list the functions that ran", _session_lines, _value_object, FORMATS),
    "info": _Listing("list the registers before an instruction", _session_lines, _value_object, FORMATS),
    "fault": _Listing("say why the program went wrong", _session_lines, _value_object, FORMATS),
    "origin": _Listing("say where a value came from", _session_lines, _value_object, FORMATS),
    "uses": _Listing("say what was made of a value", _session_lines, _value_object, FORMATS),
    "why": _Listing("explain why a register's value is known", _session_lines, _value_object, FORMATS),
    "race": _Listing("list the updates of a variable that were lost", _session_lines, _value_object, FORMATS),
    "writes": _Listing("list the stores that wrote a variable", _session_lines, _value_object, FORMATS),
}


# Listings that ask for numbers of instructions, or of values at them.
_OF_ONE = ("info", "origin", "uses", "why", "writes", "race")
# Those that take the number first.
_AT_FIRST = ("origin", "uses")
# Options of the commands in GDB: name, word for the value, help.
_OPTIONS: Dict[str, Tuple[Tuple[str, str, str], ...]] = {
    "origin": (("--addresses", "", "also where the addresses of its loads and stores came from"),),
    "writes": (("--by", "FUNCTION", "only those of this function"), ("--reads", "", "loads instead of stores")),
}

# What follows the snapshot, where that is no range.
_WORDS = {
    "info": ("registers", ""),
    "why": ("N REG", ""),
    **dict.fromkeys(("writes", "race"), ("WHAT", ": ADDRESS[,SIZE] or a variable")),
    **dict.fromkeys(_AT_FIRST, ("N WHAT", ": before which instruction, and REG, ADDRESS[,SIZE] or a variable")),
}


# Those with arguments of their own: the functions that run them, and help.  The board is reached by its name, as pyOCD
# reaches it.
_PROGRAMS = {
    "install": ("gdb_etm.offline.install", "main", 'make "source gdb_etm" work in GDB; --undo takes it back'),
    "serve": ("gdb_etm.beside.process", "main", 'serve a probe to GDB and to "etm connect HOST:PORT"'),
    "replay": ("gdb_etm.beside.shell", "main_replay", "replay a snapshot to GDB, forward and backward"),
    "proxy": ("gdb_etm.beside.shell", "main_proxy", "give any GDB server reverse execution"),
    "board": ("gdb_etm.board.openocd", "main", "give a simulated board power, and its JTAG pins to OpenOCD"),
    "selftest": ("gdb_etm.commands.selftest_shell", "main", "test a board's trace unit and buffer, without a firmware"),
    "run": ("gdb_etm.unattended.shell", "main", "run a program as a script says, and check it; for test servers"),
    "coverage": ("gdb_etm.commands.merged", "coverage", "say what was seen to run; snapshots of one program add up"),
    "profile": ("gdb_etm.commands.merged", "profile", "say what the functions cost; snapshots of one program add up"),
    "analyse": ("gdb_etm.farm.shell", "main", "analyse many captures at once, into tables for queries"),
    "compare": ("gdb_etm.commands.compare_shell", "main", "compare two snapshots: where they went another way first"),
    "report": ("gdb_etm.commands.report_shell", "main", "write one page with all that is known of a snapshot"),
    "blackbox": ("gdb_etm.commands.blackbox_shell", "main", "write out the C files of the black box"),
    "anonymise": ("gdb_etm.commands.anonymise_shell", "main", "write what the history needs of a dump, and no more"),
    "replay-bundle": ("gdb_etm.bundle.shell", "main", "repeat what etm doctor --bundle recorded"),
}


# Lines as wide as most terminals: to ask for the width takes argparse longer than anything else.
_HELP = partial(argparse.HelpFormatter, width=100)


def _number(text: str) -> int:
    try:
        value = int(text, 0)
    except ValueError:
        raise argparse.ArgumentTypeError('"%s" is no number' % text)
    if value < 0:
        raise argparse.ArgumentTypeError("%s is negative" % text)
    return value


def _version() -> str:
    from gdb_etm.offline.installed import version

    return "gdb_etm " + version()


def _parser(typed: str) -> argparse.ArgumentParser:
    # Of the named command alone where it is one: to declare all of them takes as long as to decode a small capture.
    about = "Decode Arm trace captures, and set up GDB for live trace."
    parser = argparse.ArgumentParser(prog="gdb-etm", description=about, formatter_class=_HELP)
    parser.add_argument("--version", action="version", version=_version() if typed.startswith("--v") else "")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", prog=parser.prog, required=True)
    if typed in _LISTINGS:
        _add_listing(commands, typed)
        return parser
    for name in _LISTINGS:
        _add_listing(commands, name)
    for name, (_, _, about) in _PROGRAMS.items():
        commands.add_parser(name, add_help=False, help=about)
    about = "print a page of the guide, or the list of its pages"
    guide = commands.add_parser("guide", help=about, description=about)
    guide.add_argument("page", nargs="?", default="", metavar="PAGE", help="such as filters")
    return parser


def _add_listing(commands: _Commands, name: str) -> None:
    listing = _LISTINGS[name]
    parser = commands.add_parser(name, help=listing.summary, description=listing.summary, formatter_class=_HELP)
    parser.add_argument("snapshot", metavar="SNAPSHOT", help="snapshot folder, or dump")
    parser.add_argument("--elf", metavar="FILE", action="append", default=[], help="program; may be repeated")
    parser.add_argument("--id", metavar="N", type=_number, help="only this trace ID")
    parser.add_argument("--buffer", metavar="NAME", help="only the trace buffer of this name")
    formats = "; ".join("%s%s" % (word, " (default)" if word == "text" else "") for word in listing.formats)
    parser.add_argument("--format", choices=listing.formats, default="text", help=formats)
    if name == "info":
        parser.add_argument("--at", metavar="N", type=_number, required=True, help="before which instruction")
    for option, metavar, about in _OPTIONS.get(name, ()):
        if metavar:
            parser.add_argument(option, metavar=metavar, help=about)
        else:
            parser.add_argument(option, action="store_true", help=about)
    if listing.text is not _elements and name != "fault":
        metavar, default = _WORDS.get(name, ("RANGE", "; default: everything"))
        about = 'as after "etm %s"%s' % (name, default)
        parser.add_argument("words", nargs="*", default=[], metavar=metavar, help=about)


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    # argparse gives up a list of words at the first option after it, and takes "-5,+2" for an option.
    parser = _parser(words[0] if words else "")
    arguments, more = parser.parse_known_args(words)
    unknown = [word for word in more if word.startswith("-") and word not in ("-", "--") and not word[1].isdigit()]
    if unknown or (more and "words" not in arguments):
        parser.error("unrecognized arguments: %s" % " ".join(unknown or more))
    if more:
        arguments.words = arguments.words + [word for word in more if word != "--"]
    return arguments


def _lines(arguments: argparse.Namespace) -> Iterator[str]:
    if arguments.command == "guide":
        from gdb_etm.commands.guide import page_lines

        arguments.notes = []
        return iter(page_lines(arguments.page))
    listing = _LISTINGS[arguments.command]
    make = listing.objects if arguments.format in ("json", "jsonl") and listing.objects is not None else listing.text
    return _each(make, arguments)


def _print(lines: Iterator[str]) -> None:
    while True:
        batch = list(islice(lines, _LINES_AT_ONCE))
        if not batch:
            return
        sys.stdout.write(harmless("\n".join(batch)) + "\n")


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run a command.

    :param argv: Arguments after the program's name; None takes the process's.
    :returns: The exit status: 0, or 1 after an error, which is printed in one line.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        if words and words[0] in _PROGRAMS:
            module, name, _ = _PROGRAMS[words[0]]
            return int(getattr(import_module(module), name)(words[1:]))
        arguments = _arguments(words)
        _print(_lines(arguments))
        for note in arguments.notes:
            print("gdb-etm: note: %s" % harmless(note), file=sys.stderr)
    except EtmError as error:
        print("gdb-etm: %s" % error, file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader has seen enough, as with "| head"; nothing more can be flushed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt as stop:
        print(("gdb-etm: interrupted %s" % stop).rstrip(), file=sys.stderr)
        return 130
    return 0


def process() -> int:
    """Run a command in a process of its own."""
    if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
        # Not every locale has the letters of every name.
        sys.stdout.reconfigure(errors="backslashreplace")
    status = main()
    # Python would search all that was decoded for garbage once more before it ends.
    gc.freeze()
    return status


if __name__ == "__main__":
    sys.exit(process())
