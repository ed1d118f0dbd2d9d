"""Real GDB, real pyOCD: ``etm filter`` and the board's truth.

The history is the truth, cut by the filters.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path
from typing import Callable, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

import pytest
from capstone import CS_ARCH_ARM, CS_MODE_MCLASS, CS_MODE_THUMB, Cs
from elftools.elf.elffile import ELFFile

from tests.firmware.build import elf, size, symbol
from tests.firmware.cortex_a.build import elf as elf_a
from tests.firmware.cortex_m4.build import elf as elf_m4
from tests.gdb_session import run_gdb

_RESET = "1"
_LINE = re.compile(r"(\d+) ( |!) *0x([0-9a-f]{8}) ")


class Ran(NamedTuple):
    """An instruction of the truth."""

    address: int
    in_handler: bool


def session(board: str, path: str, folder: Path, filters: Sequence[str], options: str = "--etb-size 1M") -> str:
    place = "--elf %s --truth %s %s" % (path, folder / "truth", options)
    output = run_gdb(
        [
            "file %s" % path,
            "etm connect board:%s %s" % (board, place),
            *("etm filter " + each for each in filters),
            "etm start",
            "continue",
            "etm history 1,1000000",
            "etm disconnect",
        ]
    )
    assert "Traceback" not in output and "Python Exception" not in output, output
    return output


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


M33, M7 = ("m33", "--etb-size 1M --option board.comparators=4"), ("m7", "--etb-size 1M --option board.comparators=4")


@pytest.mark.parametrize("board, options", [M33, M7])
def test_functions_and_no_others(board: str, options: str, tmp_path: Path) -> None:
    path = elf("interrupts")
    output = session(board, path, tmp_path, ["include note,IRQ1_Handler,happened"], options)
    inside = within(path, "note", "IRQ1_Handler", "happened")
    assert history(output) == [each.address for each in instructions(tmp_path) if inside(each.address)] != []
    output = session(board, path, tmp_path, ["exclude note,pend", "exclude IRQ1_Handler"], options)
    outside = within(path, "note", "pend", "IRQ1_Handler")
    assert history(output) == [each.address for each in instructions(tmp_path) if not outside(each.address)] != []


@pytest.mark.parametrize(
    "words, is_handler",
    [("exceptions off", False), ("exceptions only", True), ("level thread", False), ("level s3", True)],
)
def test_handlers(words: str, is_handler: bool, tmp_path: Path) -> None:
    """The M33's own unit has no comparators; interruptions end a block."""
    output = session("m33", elf("interrupts"), tmp_path, [words])
    wanted = [each.address for each in instructions(tmp_path) if each.in_handler == is_handler]
    assert history(output) == wanted != []


@pytest.mark.parametrize("word, told", [("on", True), ("off", False)])
def test_system_errors_are_told_wherever_they_are(word: str, told: bool, tmp_path: Path) -> None:
    """Only one function is traced; the fault is elsewhere (TRCVICTLR.TRCERR)."""
    path = elf("faults")
    output = session("m33", path, tmp_path, ["include run", "exceptions " + word], M33[1])
    lines = (tmp_path / "truth").read_text("ascii").splitlines()
    faults = {line.split()[-1] for line in lines if line.startswith("exception 3 ")}
    found = re.findall(r"^\[gap: tracing was off\]\n<HardFault \(exception 3\), return address (\w+)>$", output, re.M)
    assert bool(found) == told and set(found) <= faults
    inside = within(path, "run")
    assert history(output) == [each.address for each in instructions(tmp_path) if inside(each.address)] != []


def test_from_a_function_to_another(tmp_path: Path) -> None:
    path = elf("sort")
    filters = ["start " + sorted(functions(path))[-1], "stop run"]
    output = session("m33", path, tmp_path, filters, M33[1])
    assert history(output) == cut(truth(tmp_path), Wanted(path, filters), branches(path))


_BLOCK = (0x170, 0x172, 0x176, 0x178, 0x17C, 0x17E, 0x182, 0x184)  # "run" of faults.elf, up to its first call
_APPENDIX_D = (
    ("include 0x170-0x187", _BLOCK),  # D.1.1, L20065
    ("exclude 0x170-0x187", ()),
    ("include 0x176-0x17d", _BLOCK[2:]),  # D.1.2, L20075: from the low address to the end of the block
    ("exclude 0x176-0x17d", _BLOCK),
    ("include 0x160-0x17d", _BLOCK),  # D.1.3, L20088
    ("exclude 0x160-0x17d", _BLOCK[5:]),
    ("include 0x17c-0x18f", _BLOCK[4:]),  # D.1.4, L20098
    ("exclude 0x17c-0x18f", _BLOCK),
)


def test_one_range_and_one_block() -> None:
    """IHI 0064, appendix D: a range that covers a block or part."""
    each = [
        [
            "monitor reset halt",
            "etm filter delete all",
            "etm filter " + words,
            "etm start",
            "continue",
            "echo >>>\\n",
            "etm history 1,100000",
            "echo <<<\\n",
        ]
        for words, _ in _APPENDIX_D
    ]
    output = run_gdb(["etm connect board:m33 --elf %s %s" % (elf("faults"), M33[1]), *sum(each, [])])
    parts = [part.partition("<<<")[0] for part in output.split(">>>\n")[1:]]
    found = [tuple(at for at in history(part) if at in _BLOCK) for part in parts]
    assert found == [wanted for _, wanted in _APPENDIX_D]


def combination(path: str, seed: int) -> List[str]:
    """Choose filters at random: functions, addresses, points and exceptions."""
    chance = random.Random(seed)
    names = sorted(functions(path))
    first = chance.randrange(functions(path)["run"][0], functions(path)["run"][1] - 8, 2)
    choices = [
        "include " + ",".join(chance.sample(names, 2)),
        "include 0x%x-0x%x" % (first, first + chance.randrange(2, 200, 2)),
        "exclude " + chance.choice(names),
        "exclude 0x%x-0x%x" % (first, first + 7),
        "exceptions " + chance.choice(("off", "only", "on")),
        "start " + names[0],
        "stop " + names[1],
    ]
    return chance.sample(choices, chance.randint(1, 4))


@pytest.mark.parametrize("seed", range(8))
def test_combinations(seed: int, tmp_path: Path) -> None:
    board, options = (M33, M7)[seed % 2]
    path = elf(("interrupts", "tasks", "sort", "steps")[seed // 2])
    filters = combination(path, seed)
    output = session(board, path, tmp_path, filters, options.replace("=4", "=8"))
    assert history(output) == cut(truth(tmp_path), Wanted(path, filters), branches(path)), filters


def test_data_trace_unit_of_the_m4(tmp_path: Path) -> None:
    """An ETMv3, which tells every instruction by itself; its own comparators."""
    path = elf_m4("sort")
    filters = [
        "include run,fill,is_even",
        "exclude 0x%x-0x%x" % (symbol(path, "run"), symbol(path, "run") + 15),
        "start next_random",
        "stop is_odd",
    ]
    output = session("m4", path, tmp_path, filters, "--data-trace --etb-size 1M")
    view = Wanted(path, filters)
    assert history(output) == [each.address for each in instructions(tmp_path) if view(each)] != []


def test_watchpoint_unit_of_the_m4(tmp_path: Path) -> None:
    """An ETMv3 whose comparators are those of the DWT."""
    path = elf_m4("interrupts")
    output = session("m4", path, tmp_path, ["start IRQ1_Handler", "stop IRQ2_Handler"], "--etb-size 1M")
    view = Wanted(path, ["start IRQ1_Handler", "stop IRQ2_Handler"])
    assert history(output) == [each.address for each in instructions(tmp_path) if view(each)] != []


def session_a9(program: str, folder: Path, filters: Sequence[str]) -> List[int]:
    path = elf_a(program)
    place = "--elf %s --truth %s --option board.hold=1 --etb-size 1M" % (path, folder / "truth")
    output = run_gdb(
        [
            "file %s" % path,
            "etm connect board:a9 --dap-only " + place,
            *("etm filter " + each for each in filters),
            "etm start",
            "python import time; time.sleep(1)",
            "etm stop",
            "etm history 1,1000000",
            "etm disconnect",
        ]
    )
    assert "Traceback" not in output and "Python Exception" not in output, output
    return history(output)


def ran_on_a9(folder: Path) -> List[int]:
    lines = (folder / "truth").read_text("ascii").splitlines()
    return [int(line.split()[0], 16) for line in lines if line.startswith("0x")]


def test_functions_on_the_a9(tmp_path: Path) -> None:
    inside = functions(elf_a("sort-t32"))["run"]
    found = session_a9("sort-t32", tmp_path, ["include run"])
    assert found == [address for address in ran_on_a9(tmp_path) if inside[0] <= address < inside[1]] != []


def test_security_states_on_the_a9(tmp_path: Path) -> None:
    """Around a change a few instructions are in both states.

    An event is not exact (IHI 0035B, 3.4).
    """
    secure = session_a9("worlds", tmp_path, ["nonsecure off"])
    other = session_a9("worlds", tmp_path, ["secure off"])
    both, ran = Counter(secure + other), Counter(ran_on_a9(tmp_path))
    code = functions(elf_a("worlds")).values()
    twice = both - ran
    assert not ran - both and len(twice) < 8 and not any(first <= at < end for at in twice for first, end in code)
    work = functions(elf_a("worlds"))["work"][0]
    assert [secure.count(work), other.count(work)] == [3, 2]


def test_a_context_on_the_a9(tmp_path: Path) -> None:
    """Between two writes of CONTEXTIDR, approximately."""
    found = session_a9("modes", tmp_path, ["context 0x1234"])
    ran = ran_on_a9(tmp_path)
    first, second = (at for at, address in enumerate(ran) if address == symbol(elf_a("modes"), "set_context_id"))
    start = ran.index(found[0])
    assert found == ran[start : start + len(found)]
    assert abs(first - start) < 10 and abs(second - start - len(found)) < 10
