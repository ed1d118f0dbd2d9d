"""Real GDB sessions that trace a program, and its truth."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

from capstone import CS_ARCH_ARM, CS_MODE_MCLASS, CS_MODE_THUMB, Cs
from elftools.elf.elffile import ELFFile

from tests.firmware.build import size, symbol
from tests.gdb_session import run_gdb

# A core that does nothing more flushes the file of the truth, which then no longer grows; one never let go writes none.
_UNTIL_IDLE = (
    "python import os, time; sizes = (time.sleep(0.3) or os.path.getsize(%r) for _ in range(100));"
    " any(size == last and (size > 0 or turn > 4) for turn, (size, last) in enumerate(zip(sizes, sizes)))"
)
_RESET = "1"
_LINE = re.compile(r"(\d+) ( |!) *0x([0-9a-f]{8}) ")


class Ran(NamedTuple):
    """An instruction of the truth."""

    address: int
    in_handler: bool


def traced(
    board: str,
    path: str,
    folder: Path,
    commands: Sequence[str],
    options: str = "--etb-size 1M",
    after: Sequence[str] = (),
) -> str:
    """Trace a program to its end on a board; return GDB's output.

    :param folder: Where the board writes the truth.
    :param commands: Commands before ``etm start``.
    :param options: Options of ``etm connect``.
    :param after: Commands after the history was listed.
    """
    place, run = "board:%s --elf %s --truth %s %s" % (board, path, folder / "truth", options), ["continue"]
    if board == "a9":
        place, run = place + " --dap-only --option board.hold=1", [_UNTIL_IDLE % str(folder / "truth"), "etm stop"]
    session = ["etm connect " + place, *commands, "etm start", *run, "etm history 1,1000000", *after]
    output = run_gdb(["file " + path, *session, "etm disconnect"])
    assert "Traceback" not in output and "Python Exception" not in output, output
    return output


def filtered(board: str, path: str, folder: Path, filters: Sequence[str], options: str = "--etb-size 1M") -> str:
    """Trace a program with filters."""
    return traced(board, path, folder, ["etm filter " + each for each in filters], options)


def history(output: str) -> List[int]:
    return [int(found[3], 16) for found in map(_LINE.match, output.splitlines()) if found]


def instructions(folder: Path) -> List[Ran]:
    """Read the instructions that ran."""
    return [each for each in truth(folder) if each is not None]


def truth(folder: Path) -> List[Optional[Ran]]:
    """Read the truth up to a halt; None is an exception."""
    ran: List[Optional[Ran]] = []
    depth, on = 0, False
    for line in (folder / "truth").read_text("ascii").splitlines():
        word = line.split()[0]
        if word in ("resume", "halt"):
            if on and word == "halt":
                break
            depth, on = 0, word == "resume"
        elif word == "exception":
            depth = 0 if line.split()[1] == _RESET else depth + 1
            ran.append(None)
        elif word == "exception-return":
            depth -= 1
            ran.append(None)
        elif line.startswith("0x") and on:
            ran.append(Ran(int(word, 16), depth > 0))
    return ran


def within(path: str, *names: str) -> Callable[[int], bool]:
    spans = [(symbol(path, name), symbol(path, name) + size(path, name)) for name in names]
    return lambda address: any(first <= address < end for first, end in spans)


def functions(path: str) -> Dict[str, Tuple[int, int]]:
    """List the program's functions with their first and end addresses."""
    with open(path, "rb") as file:
        rows = [
            each
            for each in ELFFile(file).get_section_by_name(".symtab").iter_symbols()
            if each["st_info"]["type"] == "STT_FUNC" and each["st_size"]
        ]
        return {each.name: (each["st_value"] & ~1, (each["st_value"] & ~1) + each["st_size"]) for each in rows}


def branches(path: str) -> Set[int]:
    """Find an ETMv4's P0 instructions by Capstone (IHI 0064, 5.2.6)."""
    found: Set[int] = set()
    decoder = Cs(CS_ARCH_ARM, CS_MODE_THUMB | CS_MODE_MCLASS)
    with open(path, "rb") as file:
        text = ELFFile(file).get_section_by_name(".text")
        code, base = text.data(), text["sh_addr"]
    for at in range(0, len(code), 2):
        for one in decoder.disasm(code[at : at + 4], base + at, 1):
            if _BRANCH.match(one.mnemonic) or _WRITES_PC.search(one.op_str) and _LOADS.match(one.mnemonic):
                found.add(one.address)
    return found


_BRANCH = re.compile(r"(b|bl|bx|blx|cbz|cbnz|tbb|tbh|isb)(eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)?(\.[wn])?\Z")
_LOADS = re.compile(r"pop|ldm|ldr")
_WRITES_PC = re.compile(r"^pc,|[{ ]pc\}")


def cut(ran: Sequence[Optional[Ran]], view: Callable[[Ran], bool], p0: Set[int]) -> List[int]:
    """Cut the truth as ViewInst does (4.1.3).

    Tracing begins at an instruction, and ends only between two blocks.

    :param ran: What ran; None is an exception, or a return from one.
    """
    kept: List[int] = []
    active, boundary = False, True
    for each in ran:
        if each is None:
            boundary = True
            continue
        traced = view(each)
        active = traced if boundary or not active else active
        if active:
            kept.append(each.address)
        boundary = each.address in p0
    return kept


class Wanted:
    """What filters say, in the words of the user's manual."""

    def __init__(self, path: str, filters: Sequence[str]) -> None:
        self._spans: Dict[str, List[Tuple[int, int]]] = {"include": [], "exclude": []}
        self._points: Dict[str, List[int]] = {"start": [], "stop": []}
        self._exceptions = "on"
        known = functions(path)
        for kind, text in (each.split() for each in filters):
            if kind == "exceptions":
                self._exceptions = text
            elif kind in self._points:
                self._points[kind] += [known[name][0] for name in text.split(",")]
            else:
                for name in text.split(","):
                    first, dash, last = name.partition("-")
                    self._spans[kind].append((int(first, 16), int(last, 16) + 1) if dash else known[name])
        self._started = not self._points["start"]

    def __call__(self, one: Ran) -> bool:
        inside = {kind: any(first <= one.address < end for first, end in spans) for kind, spans in self._spans.items()}
        if one.address in self._points["start"]:
            self._started = True
        traced = self._started and (inside["include"] or not self._spans["include"]) and not inside["exclude"]
        if one.address in self._points["stop"]:
            self._started = False
        return traced and self._exceptions != ("off" if one.in_handler else "only")


def ran_on_a9(folder: Path) -> List[int]:
    lines = (folder / "truth").read_text("ascii").splitlines()
    return [int(line.split()[0], 16) for line in lines if line.startswith("0x")]
