"""Worked by hand: a user's arguments, completion, and ranges."""

from __future__ import annotations

from typing import Iterable, Optional

import pytest

from gdb_etm.commands.connect import CONNECT
from gdb_etm.commands.declare import Argument, Command, Completion, Values, help_text, usage
from gdb_etm.commands.history import HISTORY
from gdb_etm.commands.options import DATA_RANGE, EXCLUDE, INCLUDE, START_AT, STOP_AT
from gdb_etm.commands.origin import ORIGIN
from gdb_etm.commands.parse import choice, complete, flag, parse, split, words_of
from gdb_etm.commands.registry import COMMANDS, SETTINGS
from gdb_etm.errors import CommandError
from gdb_etm.offline.debugger import OfflineDebugger
from gdb_etm.session.numbers import count, hertz, size
from gdb_etm.session.ranges import NumberRange, check, window
from gdb_etm.session.session import DebugSession

SESSION = DebugSession(OfflineDebugger())


def nothing(session: DebugSession, values: Values) -> Iterable[str]:
    return ()


FILE = Argument("FILE", str, "a file", completion=Completion.FILE, required=True)
MORE = Argument("MORE", count, "numbers", many=True)
SPEED = choice("--speed", ("slow", "fast"), "how fast", "SPEED")
TAG = Argument("--tag", str, "tags", "TAG", many=True)
LOUD = flag("--loud", "aloud")
COMMAND = Command(
    "try", "Try it.", nothing, "Really.", (FILE, MORE, SPEED, TAG, LOUD), {"x": "more"}, (("try a", "tries"),)
)


def test_values_are_typed() -> None:
    values = parse(COMMAND, split("/x 'a b' --speed fast 1 0x10 --tag=p --tag q"))
    assert values.modifiers == "x"
    assert values.get(FILE) == "a b"
    assert values.all(MORE) == [1, 16]
    assert values.get(SPEED) == "fast"
    assert values.all(TAG) == ["p", "q"]
    assert parse(COMMAND, ["a"]).get(SPEED) is None
    assert parse(COMMAND, ["--loud", "a"]).get(LOUD) is True and parse(COMMAND, ["a"]).get(LOUD) is None


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "FILE is missing"),
        ("a --speed", "--speed needs a value: slow | fast"),
        ("a --speed warp", '--speed: "warp" is none of: slow, fast'),
        ("a --speed slow --speed slow", "--speed is given twice"),
        ("a --nope 1", "--nope is unknown here"),
        ("a --loud=1", "--loud takes no value"),
        ("--loud --loud a", "--loud is given twice"),
        ("/xy a", "/y is unknown here"),
        ("a one", 'MORE: "one" is not a number'),
        ("a -1", "MORE: -1 is negative"),
        ("'a", "no closing quotation"),
    ],
)
def test_wrong_arguments(text: str, message: str) -> None:
    with pytest.raises(CommandError) as caught:
        parse(COMMAND, split(text))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["''", "' '", "' ' ' '", "'\t' x", "/ ' '", "-- ' '", "x ' ' ''"])
def test_words_of_nothing_are_words(text: str) -> None:
    for command in COMMANDS:
        try:
            assert parse(command, words_of(command, text)) is not None
        except CommandError as error:
            assert str(error)


@pytest.mark.parametrize("text", ["--at 9 --addresses r3 -1", "r3 -1 --addresses --at 9", "--addresses r3 -1 --at=9"])
def test_options_are_before_or_behind_an_expression(text: str) -> None:
    values = parse(ORIGIN, words_of(ORIGIN, text))
    assert [values.get(one) for one in ORIGIN.arguments if one.name in ("--at", "--addresses", "EXPR")] == [
        9,
        True,
        "r3 -1",
    ]


@pytest.mark.parametrize("text", ["n --addresses 3", "n --at", "n --nothing", "n--addresses"])
def test_what_is_no_option_stays_in_the_expression(text: str) -> None:
    assert words_of(ORIGIN, text) == [text]


def test_one_argument_too_many_shows_the_usage() -> None:
    with pytest.raises(CommandError, match=r'"b" is one argument too many. Usage: etm connect \[WHERE\]'):
        parse(CONNECT, ["board:m33", "b"])


def test_units_of_numbers() -> None:
    assert (size("4096"), size("4K"), size("0x1000"), size("1m")) == (4096, 4096, 4096, 1 << 20)
    assert (hertz("4000000"), hertz("4M"), hertz("400k")) == (4000000, 4000000, 400000)


@pytest.mark.parametrize(
    "text, word, offers, files",
    [
        (" ", "", ["--speed", "--tag", "--loud"], True),
        (" /x ", "", ["--speed", "--tag", "--loud"], True),
        (" a ", "", ["--speed", "--tag", "--loud"], False),
        (" --loud ", "", ["--speed", "--tag"], True),
        (" a --l", "--l", ["--loud"], False),
        (" a --s", "--s", ["--speed"], False),
        (" a --speed ", "", ["slow", "fast"], False),
        (" a --speed f", "f", ["fast"], False),
        (" a --speed fast ", "", ["--tag", "--loud"], False),
        (" a --tag x --t", "--t", ["--tag"], False),
    ],
)
def test_completion(text: str, word: str, offers: list, files: bool) -> None:
    assert complete(SESSION, COMMAND, text, word) == (offers, files)


def test_every_completion_of_every_command_can_be_typed() -> None:
    for command in COMMANDS:
        for argument in command.arguments:
            prefix = " %s " % argument.name if argument.is_option else " "
            offers, files = complete(SESSION, command, prefix, "")
            assert set(argument.choices) <= set(offers)
            assert files == (argument.completion is Completion.FILE) or argument.flag or not argument.is_option
            for chosen in argument.choices:
                argument.convert(chosen)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", (91, 100)),
        ("+", (91, 100)),
        ("-", (91, 100)),
        ("5", (5, 14)),
        ("95", (95, 100)),
        ("5,8", (5, 8)),
        ("5, 8", (5, 8)),
        ("5,+3", (5, 7)),
        ("5,-3", (3, 5)),
        ("2,-9", (1, 2)),
        ("99,+9", (99, 100)),
        ("98,200", (98, 100)),
        ("-3", (98, 100)),
        ("-300", (1, 100)),
        ("-3,+2", (98, 99)),
        ("0x10,0x11", (16, 17)),
    ],
)
def test_ranges(text: str, expected: tuple) -> None:
    assert window(text, 100, 10, None, "instructions") == expected


@pytest.mark.parametrize(
    "text, before, expected",
    [
        ("", NumberRange(10, 19), (20, 29)),
        ("-", NumberRange(10, 19), (1, 9)),
        ("-", NumberRange(30, 39), (20, 29)),
        ("", NumberRange(88, 97), (98, 100)),
    ],
)
def test_ranges_go_on(text: str, before: NumberRange, expected: tuple) -> None:
    assert window(text, 100, 10, before, "instructions") == expected


@pytest.mark.parametrize(
    "text, before, message",
    [
        ("", NumberRange(91, 100), "at the end of the history"),
        ("-", NumberRange(1, 10), "at the start of the history"),
        ("0", None, "there is no 0: the instructions are numbered 1 to 100"),
        ("101", None, "there is no 101"),
        ("-0", None, "there is no 0"),
        ("8,5", None, "the range 8,5 ends before it begins"),
        ("5,+0", None, r"\+0 is empty"),
        ("x", None, '"x" is no range'),
        ("5,", None, '"5," is no range'),
        ("1,2,3", None, '"1,2,3" is no range'),
        ("1 2", None, '"1 2" is no range'),
    ],
)
def test_ranges_outside(text: str, before: Optional[NumberRange], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        window(text, 100, 10, before, "instructions")


def test_a_range_where_there_is_nothing_is_checked_all_the_same() -> None:
    for text in ("", "-", "5", "-3,+2", "1,100"):
        check(text, "instructions")
    for text in ("8,5", "x", "5,", "1,2,3"):
        with pytest.raises(CommandError, match="range"):
            check(text, "instructions")


@pytest.mark.parametrize(
    "argument, text, message",
    [
        (INCLUDE, "main", 'no range of addresses; "etm filter include main" takes names$'),
        (EXCLUDE, "crc16,parse", '"etm filter exclude crc16,parse" takes names$'),
        (START_AT, "main", '"main" is not a number; "etm filter start main" takes names$'),
        (STOP_AT, "file.c:12", '"etm filter stop file.c:12" takes names$'),
        (DATA_RANGE, "station", '"etm filter data-include station" takes names$'),
        (INCLUDE, "0x100", "such as 0x100-0x1ff$"),
        (INCLUDE, "7", "such as 0x100-0x1ff$"),
    ],
)
def test_names_are_for_filters(argument: Argument, text: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        argument.convert(text)


@pytest.mark.parametrize(
    "cursor, expected",
    [(50, (45, 54)), (1, (1, 10)), (5, (1, 10)), (7, (2, 11)), (96, (91, 100)), (95, (90, 99)), (101, (91, 100))],
)
def test_around_the_cursor(cursor: int, expected: tuple) -> None:
    assert window("", 100, 10, None, "instructions", cursor) == expected
    assert window("", 100, 10, NumberRange(10, 19), "instructions", cursor) == expected
    assert window("+", 100, 10, None, "instructions", cursor) == expected
    assert window("+", 100, 10, NumberRange(10, 19), "instructions", cursor) == (20, 29)
    assert window("-", 100, 10, NumberRange(10, 19), "instructions", cursor) == (1, 9)
    assert window("7", 100, 10, None, "instructions", cursor) == (7, 16)


def test_around_the_cursor_all_of_a_short_history() -> None:
    assert window("", 7, 10, None, "instructions", 3) == (1, 7)
    assert window("", 100, None, None, "instructions", 3) == (1, 100)


def test_unlimited_and_empty_histories() -> None:
    assert window("", 100, None, None, "lines") == (1, 100)
    assert window("40", 100, None, None, "lines") == (40, 100)
    with pytest.raises(CommandError, match="the history holds no lines"):
        window("", 0, 10, None, "lines")


def test_every_command_explains_itself() -> None:
    for command in COMMANDS:
        assert command.summary.endswith(".") and len(command.summary) < 80, command.name
        assert command.examples, command.name
        text = help_text(command)
        assert text.startswith(command.summary)
        assert all(argument.help and not argument.help.endswith(".") for argument in command.arguments)
        assert max(map(len, text.splitlines()[3:])) <= 120, command.name
        for example, _ in command.examples:
            name, _, rest = example.partition(" ")
            assert name == command.name
            parse(command, split(rest))
    for setting in SETTINGS:
        assert setting.summary[0].islower() and not setting.summary.endswith(".") and setting.details.endswith(".")


def test_usage() -> None:
    assert usage(HISTORY) == "etm history [/msrftd] [RANGE...] [--id ID]"
    assert usage(COMMAND) == "etm try [/x] FILE [MORE...] [--speed SPEED] [--tag TAG...] [--loud]"
