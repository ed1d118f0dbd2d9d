"""Runs faulty programs on their boards; keeps snapshots.

``python -m tests.firmware.faulty.run --all`` runs all builds and prints a table.  Instead of ``--all`` it takes
programs, ``-l LEVEL``, ``-b BOARD`` and ``--again``.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from enum import Enum
from pathlib import Path
from typing import Any, Collection, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

import gdb_etm
from tests.firmware.build import compiler
from tests.firmware.faulty.build import BUILT, digest, elf, marked, missing, name_of
from tests.firmware.faulty.programs import PROGRAMS, builds

# What is kept has another form since.
_FORM = 4
_SECONDS = 20
_BUFFER = 4096
# Data take about ten times the room.
_BUFFER_OF_DATA = 1 << 15
# Where no program has anything.
_MTB = "0x20060000,%d" % _BUFFER
# Of the executions of culprit lines so many are kept, the newest.
_MOST = 50


class Way(Enum):
    """What is known of a run besides what ran.

    Its value is that of the folder's name.
    """

    PLAIN = ""
    # With ``set etm anchor-memory on``.
    ANCHORED = "-anchored"
    # With data trace, on the boards that have it.
    DATA = "-data"


class Outcome(NamedTuple):
    """What became of a build."""

    # The snapshot's folder.
    snapshot: Path
    elf: Path
    # What the file beside the snapshot holds.
    facts: Dict[str, Any]


def prepare(program: str, level: str, board: str, folder: Path = BUILT, again: bool = False) -> Path:
    """Run a build and keep its capture, unless that is current.

    :param program: One of PROGRAMS.
    :param level: One of its levels.
    :param board: ``m33``, ``m7`` or ``m4``.
    :param folder: Where the snapshot is put, with a JSON file beside it.
    :param again: Run it also when there is a current one.
    :returns: The snapshot's folder.
    """
    return outcome(program, level, board, folder, again).snapshot


def outcome(
    program: str, level: str, board: str, folder: Path = BUILT, again: bool = False, way: Way = Way.PLAIN
) -> Outcome:
    """Run a build as :func:`prepare` does, and say what became of it.

    :param way: What is known besides what ran.
    """
    name = name_of(program, level, board)
    snapshot, notes, current = folder / name, folder / (name + ".json"), digest(program, level, board)
    program_file = elf(program, level, board, folder)
    if notes.exists() and not again:
        kept = json.loads(notes.read_text("ascii"))
        if kept.get("digest") == current and kept.get("form") == _FORM:
            return Outcome(snapshot, program_file, kept)
    truth = folder / (name + ".truth")
    facts = _run(program, board, program_file, snapshot, truth, way)
    facts.update(program=program, level=level, board=board, kind=PROGRAMS[program].kind, digest=current, form=_FORM)
    notes.write_text(json.dumps(facts, indent=1) + "\n", "ascii")
    truth.unlink()
    return Outcome(snapshot, program_file, facts)


def _run(program: str, board: str, program_file: Path, snapshot: Path, truth: Path, way: Way) -> Dict[str, Any]:
    option = ("board.write_buffer=1",) if PROGRAMS[program].buffered else ()
    place, with_data = "board:" + board, way is Way.DATA
    size = None if board == "m0" else _BUFFER_OF_DATA if with_data else _BUFFER
    fuller = with_data and board == "m4"
    with gdb_etm.connect(
        place, elf=program_file, truth=str(truth), etb_size=size, data_trace=fuller, option=option
    ) as session:
        if way is Way.ANCHORED:
            session._session.settings["anchor-memory"] = "on"
        if with_data:
            session.configure(data="both")
        if board == "m0":
            session.configure(buffer=_MTB)
        session.start()
        stop = session.run(_SECONDS)
        capture = session.capture()
        executed = [instruction.address for instruction in capture.history().instructions()]
        capture.save(snapshot, replace=True)
        # When the session has ended the core runs on.
        ran, fault = _truth(truth)
    where = [] if fault is None else [fault[1] if _is_code(program_file, fault[1]) else fault[2]]
    lines = Lines(program_file, {*executed, *where})
    culprits = marked(program, "CULPRIT")
    runs = [number for number, address in enumerate(executed, 1) if lines.of(address) & set(culprits)]
    return {
        "culprit_lines": culprits,
        "fault_lines": marked(program, "FAULTS"),
        "in_history": bool(runs),
        "instructions": len(executed),
        "stop": "(runs on)" if stop.timed_out else stop.function,
        "stop_address": stop.address,
        # Number and address of the culprit lines' instructions in the history, the newest last.
        "culprit_runs": [[number, executed[number - 1]] for number in runs[-_MOST:]],
        "culprit_count": len(runs),
        # By the board's truth.
        "ran": len(ran),
        "agrees": _agrees(ran, executed),
        "exception": None if fault is None else fault[0],
        "fault_address": None if fault is None else fault[1],
        # Where the instruction that faulted is; of a jump to where no code is, the jump.
        "faulted_at": sorted(line for address in where for line in lines.of(address)),
    }


def _is_code(program_file: Path, address: int) -> bool:
    with open(program_file, "rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        for symbol in table.iter_symbols():
            first = symbol["st_value"] & ~1
            if symbol["st_info"]["type"] == "STT_FUNC" and first <= address < first + max(symbol["st_size"], 2):
                return True
    return False


def _truth(path: Path) -> Tuple[List[int], Optional[Tuple[int, int, int]]]:
    # Addresses executed since the last halt, and the last fault: its exception's number, where, and the address
    # executed before.
    ran: List[int] = []
    fault = None
    for line in path.read_text("ascii").splitlines():
        if line.startswith("0x"):
            ran.append(int(line[:10], 16))
            continue
        if line.startswith("resume"):
            # Before the debugger was there the program ran to its BKPT, and into lockup.
            ran, fault = [], None
        found = re.match(r"exception ([3-6]) return 0x(\w+)", line)
        if found is not None:
            fault = int(found.group(1)), int(found.group(2), 16) & ~1, ran[-1]
        elif line.startswith("lockup"):
            fault = 0, int(line.split()[1], 16), ran[-1]
    return ran, fault


def _agrees(ran: List[int], executed: List[int]) -> bool:
    # A reset takes the trace of the few instructions before it.
    at = len(ran)
    for address in reversed(executed):
        found = next((index for index in range(at - 1, max(at - 17, -1), -1) if ran[index] == address), None)
        if found is None:
            return False
        at = found
    return True


class Lines:
    """The source lines of instructions, also those around inlined code.

    :param path: The ELF file.
    :param addresses: Of the instructions.
    """

    def __init__(self, path: Path, addresses: Collection[int]) -> None:
        tool = (compiler() or "arm-none-eabi-gcc")[: -len("gcc")] + "addr2line"
        asked = "".join("0x%x\n" % address for address in sorted(addresses)).encode()
        found = subprocess.run(
            [tool, "-a", "-i", "-s", "-e", str(path)], input=asked, stdout=subprocess.PIPE, check=True
        ).stdout.decode()
        self._lines: Dict[int, Set[Tuple[str, int]]] = {}
        for line in found.splitlines():
            if line.startswith("0x"):
                last = self._lines.setdefault(int(line, 16), set())
                continue
            name, _, number = line.partition(":")
            digits = re.match(r"\d+", number)
            if digits is not None:
                last.add((name, int(digits.group())))

    def of(self, address: int) -> Set[Tuple[str, int]]:
        """Return an instruction's lines: file name and line."""
        return self._lines.get(address, set())


def is_right(program: str, facts: Dict[str, Any]) -> bool:
    """Tell whether a build stops as it should, its culprit in history."""
    right = facts["stop"] == PROGRAMS[program].stop and bool(facts["agrees"]) and bool(facts["in_history"])
    if facts["fault_lines"] and facts["exception"] is not None:
        right = right and any(line in facts["faulted_at"] for line in facts["fault_lines"])
    return right


def _wanted(arguments: argparse.Namespace) -> Iterator[Tuple[str, str, str]]:
    for program, level, board in builds():
        by_name = (arguments.all or program in arguments.programs) and missing(program) is None
        if by_name and level in (arguments.level or level) and board in (arguments.board or board):
            yield program, level, board


def main(words: Optional[Sequence[str]] = None) -> None:
    """Run builds and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    parser.add_argument("--all", action="store_true", help="all programs")
    parser.add_argument("-l", "--level", action="append", help="only this level of optimisation")
    parser.add_argument("-b", "--board", action="append", help="only this board")
    parser.add_argument("--again", action="store_true", help="run also what is current")
    arguments = parser.parse_args(words)
    form = "%-12s %-4s %-4s %12s  %-20s %-10s %8s  %s"
    print(form % ("program", "", "", "instructions", "stop", "culprit", "distance", ""))
    for program, level, board in _wanted(arguments):
        try:
            facts = outcome(program, level, board, again=arguments.again).facts
        except (ValueError, gdb_etm.EtmError) as error:
            print("%-12s %-4s %-4s %s" % (program, level, board, error), flush=True)
            continue
        count, newest = facts["instructions"], facts["culprit_runs"]
        distance = str(count - newest[-1][0]) if newest else ""
        found = "in history" if facts["in_history"] else "no"
        where = " ".join("%s:%d" % (name, line) for name, line in facts["faulted_at"])
        verdict = "" if is_right(program, facts) else "WRONG"
        print(form % (program, level, board, count, facts["stop"], found, distance, (verdict + " " + where).strip()))
        print(end="", flush=True)


if __name__ == "__main__":
    main()
