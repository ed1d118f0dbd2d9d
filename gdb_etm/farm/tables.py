"""The tables of an analysis and their columns, with units."""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

# Changes with the meaning of a table or column: then all is analysed anew.
SCHEMA = 1

# A row's values, in the order of the columns; None where nothing is known.
Row = Tuple[Any, ...]
# Rows by table.
Rows = Dict[str, List[Row]]


class Column(NamedTuple):
    """A column of a table."""

    name: str
    # Arrow's name of its type: ``string``, ``uint64`` or ``int64``.
    kind: str
    about: str


class FarmTable(NamedTuple):
    """A folder of Parquet files with the same columns."""

    name: str
    about: str
    columns: Sequence[Column]


def _text(name: str, about: str) -> Column:
    return Column(name, "string", about)


def _number(name: str, about: str) -> Column:
    return Column(name, "int64", about)


def _address(name: str, about: str) -> Column:
    return Column(name, "uint64", about)


_ANALYSIS = _text("analysis", "hash of content, program and version: what `captures` names")
_TRACE_ID = _number("trace_id", "which trace stream of the capture")
_PROGRAM = _text("program", "hash of the ELF files")
_FILE = _text("file", "the source file, as the debug information names it")
_LINE = _number("line", "its line, from 1")

# What is known of a capture's content.
_FACTS = (
    _PROGRAM,
    _text("build_id", "GNU build-id of the first ELF file that has one, in hexadecimal"),
    _text("unit", "trace units, such as `etmv4`; several with commas"),
    _text("core", "core types, such as `Cortex-M33`; several with commas"),
    _number("bytes", "bytes in the trace buffers"),
    _number("instructions", "executed instructions that were seen, of all trace streams"),
    _number("gaps", "places where execution is unknown"),
    _text("verdict", "what `etm fault` says went wrong: the kind, `none`, `not known`; empty: not judged"),
    _text("reason", "why the capture could not be analysed; empty: it could"),
)

CAPTURES = FarmTable(
    "captures",
    "a row for each capture by its path",
    (
        _text("path", "snapshot folder, or dump"),
        _text("content", "hash of its bytes; empty where it cannot be read"),
        _ANALYSIS,
        *_FACTS,
    ),
)
CONTENTS = FarmTable(
    "contents",
    "a row for each content that was analysed",
    (_ANALYSIS, _text("content", "hash of the capture's bytes"), *_FACTS),
)
FUNCTIONS = FarmTable(
    "functions",
    "the functions of each program",
    (
        _PROGRAM,
        _text("function", "name"),
        _address("address", "of the first byte"),
        _address("end", "just past the last byte"),
        _FILE,
        _LINE,
    ),
)
CODE_LINES = FarmTable("code_lines", "the source lines that have code, of each program", (_PROGRAM, _FILE, _LINE))
CODE_BRANCHES = FarmTable(
    "code_branches",
    "the conditional branches of each program",
    (_PROGRAM, _address("address", "of the branch"), _text("function", "that holds it"), _FILE, _LINE),
)
LINES = FarmTable(
    "lines",
    "source lines that ran",
    (_ANALYSIS, _TRACE_ID, _FILE, _LINE, _number("times", "how often its most frequent instruction ran")),
)
BRANCHES = FarmTable(
    "branches",
    "conditional branches that ran",
    (
        _ANALYSIS,
        _TRACE_ID,
        _address("address", "of the branch"),
        _number("taken", "how often it was taken"),
        _number("not_taken", "how often it was not"),
    ),
)
PROFILE = FarmTable(
    "profile",
    "functions that ran",
    (
        _ANALYSIS,
        _TRACE_ID,
        _text("function", "name; `??` where there is none"),
        _address("address", "of the function"),
        _number("calls", "calls that were seen to begin"),
        _number("own_instructions", "instructions of its own"),
        _number("inclusive_instructions", "with those of what it called"),
        _number("own_cycles", "processor cycles of its own; null: not traced, or over 16 million instructions"),
        _number("inclusive_cycles", "with those of what it called"),
    ),
)
EDGES = FarmTable(
    "edges",
    "transfers of control: branches taken, and conditional ones not taken",
    (
        _ANALYSIS,
        _TRACE_ID,
        _address("from_address", "of the branch"),
        _address("to_address", "of what ran next"),
        _number("times", "how often"),
    ),
)
RANGES = FarmTable(
    "ranges",
    "instructions that ran one after the other",
    (
        _ANALYSIS,
        _TRACE_ID,
        _address("first_address", "of the first instruction"),
        _address("last_address", "of the last instruction"),
        _number("times", "how often"),
    ),
)
GAPS = FarmTable(
    "gaps",
    "places where execution is unknown",
    (
        _ANALYSIS,
        _TRACE_ID,
        _number("after", "the instruction before it, numbered from 1; 0: none"),
        _number("offset", "byte in the trace buffer"),
        _text("reason", "why, in words"),
        _text("detail", "more about that"),
    ),
)
FAULTS = FarmTable(
    "faults",
    "faults and failed assertions",
    (
        _ANALYSIS,
        _TRACE_ID,
        _text("exception", "such as `HardFault`; empty: the program stopped itself"),
        _text("verdict", "kind of the mistake, such as `overrun`; `not known`"),
        _text("text", "the verdict in words"),
        _text("tier", "`exact` or `assumed`: what it rests on"),
        _address("address", "of the instruction that is to blame"),
        _text("function", "that holds it"),
        _FILE,
        _LINE,
    ),
)

# Those of a program, and those of a capture's content; "contents" is written last, and says what is there.
PROGRAM_TABLES = (FUNCTIONS, CODE_LINES, CODE_BRANCHES)
CONTENT_TABLES = (LINES, BRANCHES, PROFILE, EDGES, RANGES, GAPS, FAULTS, CONTENTS)
TABLES = (CAPTURES, *CONTENT_TABLES[::-1], *PROGRAM_TABLES)
