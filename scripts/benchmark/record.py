"""Compare the counts of long recordings with what really ran.

Programs on three boards are recorded with --stitch until so many instructions were seen.  Each begins again where it
would end.
What the board says that ran is counted by other means: symbols of the ELF file, Capstone, and a stack of return
addresses.  For each program:

lines       times of each instruction, from which those of lines follow
branches    ways of each conditional branch
calls       calls of each function
own         instructions of each function
inclusive   the same with what it called
profile s   seconds of CPU for "etm profile" afterwards

"=" is equal, a number is how many differ, "-" is not told by these means.
"""

import argparse
import json
import os
import sys
import tempfile
from bisect import bisect_right
from collections import Counter

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, ROOT)
PROGRAMS = ("rounds", "sort", "interrupts", "tables", "ticks", "branches", "tasks")
# What the other means cannot tell: tasks switch stacks, and functions in assembler code have no sizes.
UNTOLD = {"tasks": ("inclusive",), "branches": ("calls", "own", "inclusive")}
BOARDS = ("m33", "m7", "m4")
COLUMNS = ("lines", "branches", "calls", "own", "inclusive")
# Run by GDB.
RECORDING = r"""
import gdb, json, re, time
from gdb_etm.api.inside import commands_session
from gdb_etm.session.counted import counts_shown, profile_shown
seen = 0
while seen < %(wanted)d:
    text = gdb.execute('etm record --instructions %%d' %% (%(wanted)d - seen), to_string=True)
    found = re.search(r'^recorded ([\d,]+) instr.*: (.*)$', text, re.MULTILINE)
    if found is None or found[2] != 'nothing that ran is missing':
        print(text)
        break
    seen += int(found[1].replace(',', ''))
    if 'finished' in str(gdb.selected_frame().name()):
        gdb.execute('set $sp = *(unsigned *)0')
        gdb.execute('set $pc = (unsigned)Reset_Handler & ~1')
begun = time.process_time()
gdb.execute('etm profile', to_string=True)
spent = time.process_time() - begun
session = commands_session()
counts, profile = (one(session, session.shown(), *more) for one, more in
                   ((counts_shown, ()), (profile_shown, ('instructions',))))
with open(%(out)r, 'w') as file:
    json.dump({
        'executed': counts.executed, 'taken': counts.taken, 'not_taken': counts.not_taken, 'seen': seen,
        'total': counts.instructions, 'seconds': spent,
        'functions': [(one.function.name, one.function.start, one.calls, one.own, one.inclusive)
                      for one in profile.functions()],
    }, file)
"""


class Symbols:
    """Functions and instructions of an ELF file."""

    def __init__(self, path):
        """Read them."""
        from capstone import CS_ARCH_ARM, CS_MODE_MCLASS, CS_MODE_THUMB, Cs
        from elftools.elf.elffile import ELFFile

        self._capstone = Cs(CS_ARCH_ARM, CS_MODE_THUMB | CS_MODE_MCLASS)
        self._known = {}
        with open(path, "rb") as file:
            elf = ELFFile(file)
            self._segments = [(one["p_vaddr"], one.data()) for one in elf.iter_segments() if one["p_type"] == "PT_LOAD"]
            found = {
                (one["st_value"] & ~1, one["st_size"])
                for one in elf.get_section_by_name(".symtab").iter_symbols()
                if one["st_info"]["type"] == "STT_FUNC"
            }
        self._functions = sorted(found)
        self._starts = [start for start, _ in self._functions]

    def function(self, address):
        """Give the address of the function that holds an address."""
        at = bisect_right(self._starts, address) - 1
        start, size = self._functions[at] if at >= 0 else (0, 0)
        return start if start <= address < start + size else None

    def code(self, address):
        """Give four bytes of code."""
        return next(data[address - at :][:4] for at, data in self._segments if at <= address < at + len(data))

    def kind(self, address):
        """Tell what an instruction is, and its size."""
        if address not in self._known:
            data = self.code(address)
            one = next(self._capstone.disasm(data, address), None)
            self._known[address] = (_kind(one), one.size) if one is not None else ("", 4 if data[1] >= 0xE8 else 2)
        return self._known[address]


def _kind(one):
    name, operands = one.mnemonic, one.op_str
    if name in ("bl", "blx"):
        return "call"
    if name.startswith(("cbz", "cbnz")) or (name.startswith("b") and name.split(".")[0][1:] in _CONDITIONS):
        return "conditional"
    if (name.startswith("bx") and operands == "lr") or (name.startswith(("pop", "ldm")) and "pc" in operands):
        return "return"
    return "return" if name.startswith("ldr") and operands.startswith("pc") else ""


_CONDITIONS = set("eq ne hs cs lo cc mi pl vs vc hi ls ge lt gt le".split())


class Truth:
    """What really ran, by the board's file."""

    def __init__(self, symbols):
        """Begin."""
        self.symbols = symbols
        self.executed, self.taken, self.not_taken = Counter(), Counter(), Counter()
        self.calls, self.own, self.inclusive = Counter(), Counter(), Counter()
        # The frames, as function and return address, in levels of exceptions; the instruction before at each level.
        self.levels, self.before = [[]], [None]
        self.is_entry = self.is_resumed = False

    def read(self, path, first, total):
        """Count what ran from the resume at an address on, until the halt after so many instructions.

        What is disconnected runs on.
        """
        is_on, halted, ran = False, None, 0
        with open(path, encoding="ascii") as file:
            for line in file:
                word, _, rest = line.partition(" ")
                if word == "resume":
                    is_on = is_on or int(rest, 16) == first
                    if halted is not None and int(rest, 16) != halted:
                        # A debugger moved the core.
                        self.levels, self.before = [[]], [None]
                elif not is_on:
                    continue
                elif word.startswith("0x"):
                    self._execute(int(word, 16))
                    ran += 1
                elif word == "exception":
                    self._branch(int(rest.split()[-1], 16))
                    self.levels.append([])
                    self.before.append(None)
                    self.is_entry = True
                elif word.startswith("exception-return"):
                    if len(self.levels) > 1:
                        self.levels.pop()
                        self.before.pop()
                        self.is_resumed = True
                elif word == "halt":
                    halted = int(rest, 16)
                    self._branch(halted)
                    if ran == total:
                        break

    def _branch(self, following):
        # The way of a conditional branch.
        before = self.before[-1]
        if before is not None and self.symbols.kind(before)[0] == "conditional":
            size = self.symbols.kind(before)[1]
            (self.not_taken if following == before + size else self.taken)[before] += 1
            # Told once, also where an exception comes between.
            self.before[-1] = None

    def _execute(self, address):
        symbols, frames, before = self.symbols, self.levels[-1], self.before[-1]
        self._branch(address)
        function = symbols.function(address)
        kind, size = symbols.kind(before) if before is not None else ("", 0)
        # What was interrupted between a call or a return and its target is no other task.
        leads = kind == "call" and function == address
        leads = leads or kind == "return" and any(frame[1] == address for frame in frames)
        if self.is_entry:
            self.calls[function] += 1
            frames.append([function, None])
            self.is_entry = False
        elif not frames or self.is_resumed and not leads and frames[-1][0] != function:
            # Another task goes on.
            frames[:] = [[function, None]]
        elif kind == "call" and address != before + size:
            self.calls[function] += 1
            frames.append([function, before + size])
        elif kind == "return" and any(frame[1] == address for frame in frames):
            while frames.pop()[1] != address:
                pass
            if not frames:
                frames.append([function, None])
        elif frames[-1][0] != function:
            if symbols.function(address) == address:
                self.calls[function] += 1
                frames.append([function, None])
            else:
                frames[-1][0] = function
        self.executed[address] += 1
        self.own[function] += 1
        for one in {frame[0] for frame in frames}:
            self.inclusive[one] += 1
        self.before[-1], self.is_resumed = address, False


def endless(path, folder):
    """Give a copy of a program whose Reset_Handler begins again in place of calling finished."""
    from tests.firmware.build import symbol

    symbols = Symbols(path)
    starts = {name: symbol(path, name) for name in ("Reset_Handler", "finished")}
    copy = os.path.join(folder, os.path.basename(path))
    with open(path, "rb") as file:
        data = file.read()
    at = starts["Reset_Handler"]
    while symbols.function(at) == starts["Reset_Handler"]:
        kind, size = symbols.kind(at)
        code = symbols.code(at)
        if kind == "call" and code == _branch(at, starts["finished"], 0xD000):
            offset = next(_offsets(path, at))
            data = data[:offset] + _branch(at, starts["Reset_Handler"], 0x9000) + data[offset + 4 :]
        at += size
    with open(copy, "wb") as file:
        file.write(data)
    return copy


def _branch(at, target, kind):
    # BL T1 and B T4: DDI 0553, C2.4.
    offset = target - at - 4
    sign = offset >> 24 & 1
    ones = [(offset >> bit & 1) ^ 1 ^ sign for bit in (23, 22)]
    low = kind | ones[0] << 13 | ones[1] << 11 | offset >> 1 & 0x7FF
    return (0xF000 | sign << 10 | offset >> 12 & 0x3FF).to_bytes(2, "little") + low.to_bytes(2, "little")


def _offsets(path, address):
    from elftools.elf.elffile import ELFFile

    with open(path, "rb") as file:
        for one in ELFFile(file).iter_segments():
            if one["p_type"] == "PT_LOAD" and 0 <= address - one["p_vaddr"] < one["p_filesz"]:
                yield one["p_offset"] + address - one["p_vaddr"]


def recorded(board, program, wanted, folder):
    """Record a program on a board; give what was counted, and the path of the board's file."""
    from tests import gdb_session
    from tests.firmware import build
    from tests.firmware.cortex_m4 import build as build_m4

    gdb_session.SECONDS = 24 * 3600
    path = endless((build_m4 if board == "m4" else build).elf(program), folder)
    out, truth = os.path.join(folder, "counted.json"), os.path.join(folder, "truth")
    commands = ["file " + path, "etm connect board:%s --elf %s --truth %s" % (board, path, truth)]
    commands += ["set etm history-limit unlimited", "etm start"]
    if program == "rounds":
        commands += ["tbreak run", "continue", "set var rounds = 100000000"]
    script = os.path.join(folder, "recording.py")
    with open(script, "w", encoding="ascii") as file:
        file.write(RECORDING % {"wanted": wanted, "out": out})
    output = gdb_session.run_gdb(commands + ["source " + script, "etm disconnect"])
    if not os.path.exists(out):
        raise SystemExit("%s on %s: %s" % (program, board, output))
    with open(out, encoding="ascii") as file:
        return path, json.load(file), truth


def compare(path, counted, truth_path):
    """Compare; give a cell for each column."""
    truth = Truth(Symbols(path))
    truth.read(truth_path, truth_begin(truth_path), counted["total"])
    executed, taken, not_taken = (
        Counter({int(key): value for key, value in counted[name].items()})
        for name in ("executed", "taken", "not_taken")
    )
    yield differing(executed, truth.executed)
    ways = set(truth.taken) | set(truth.not_taken)
    ours = [Counter({key: one[key] for key in ways}) for one in (taken, not_taken)]
    yield sum(differing(one, other) for one, other in zip(ours, (truth.taken, truth.not_taken)))
    columns = [Counter({one[1]: one[at] for one in counted["functions"]}) for at in (2, 3, 4)]
    yield differing(columns[0], truth.calls)
    yield differing(columns[1], truth.own)
    yield differing(columns[2], truth.inclusive)


def truth_begin(path):
    """Give the address of the first resume."""
    with open(path, encoding="ascii") as file:
        return next(int(line.split()[1], 16) for line in file if line.startswith("resume"))


def differing(ours, truth):
    """Count the keys whose values differ."""
    return sum(ours.get(key, 0) != truth.get(key, 0) for key in {*ours, *truth})


def main():
    """Record, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", default=PROGRAMS, help="default: all")
    parser.add_argument("-b", "--board", action="append", help="only this board")
    parser.add_argument(
        "-n", "--instructions", type=int, default=5000000, metavar="N", help="of each; default: 5000000"
    )
    arguments = parser.parse_args()
    print("%-12s %-5s %12s  %s  profile s" % ("program", "board", "instructions", "  ".join(COLUMNS)))
    is_equal = True
    for program in arguments.programs:
        for board in arguments.board or BOARDS:
            with tempfile.TemporaryDirectory() as folder:
                path, counted, truth = recorded(board, program, arguments.instructions, folder)
                found = list(compare(path, counted, truth))
            untold = UNTOLD.get(program, ())
            found = [None if name in untold else one for name, one in zip(COLUMNS, found)]
            is_equal = is_equal and not any(found)
            cells = ["-" if one is None else "=" if not one else str(one) for one in found]
            words = "  ".join(cell.rjust(len(name)) for cell, name in zip(cells, COLUMNS))
            row = program, board, format(counted["total"], ","), words, counted["seconds"]
            print("%-12s %-5s %12s  %s  %9.2f" % row, flush=True)
    sys.exit(not is_equal)


if __name__ == "__main__":
    main()
