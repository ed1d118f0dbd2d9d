"""Profiles for compilers, of the tables of one program."""

from __future__ import annotations

from collections import Counter
from typing import Any, Callable
from typing import Counter as CounterOf
from typing import Dict, Iterator, Sequence, Set, Tuple

from gdb_etm.analysis.coverage import code_instructions
from gdb_etm.analysis.edges import Edge, Stretch
from gdb_etm.errors import CommandError
from gdb_etm.exports.sample_profile import LlvmProfile, autofdo_counts
from gdb_etm.farm.libraries import library
from gdb_etm.farm.store import ParquetStore
from gdb_etm.farm.tables import EDGES, RANGES, FarmTable
from gdb_etm.files import through_own_links
from gdb_etm.offline.program_sources import ProgramSources
from gdb_etm.program.blocks import Blocks
from gdb_etm.program.image import Program, load_elf
from gdb_etm.program.inline_stacks import InlineStacks

_Pairs = CounterOf[Tuple[int, int]]


class ProgramSamples:
    """Counts of all analyses of a program, each content counted once.

    :param store: The tables.
    :param files: The program's ELF files.
    :param analyses: What counts.
    """

    def __init__(self, store: ParquetStore, files: Sequence[str], analyses: Set[str]) -> None:
        self._store = store
        self._files = files
        self._analyses = analyses
        self.edges = {Edge(*pair): times for pair, times in self._sums(EDGES, "from_address", "to_address").items()}
        found = self._sums(RANGES, "first_address", "last_address")
        self.stretches = {Stretch(*pair): times for pair, times in found.items()}

    def _sums(self, table: FarmTable, first: str, second: str) -> _Pairs:
        # Of a file at a time, by Arrow: the tables may be larger than the memory.
        compute: Any = library("pyarrow.compute")
        wanted: Any = library("pyarrow").array(sorted(self._analyses), "string")
        found: _Pairs = Counter()
        for rows in self._store.tables(table, ("analysis", first, second, "times")):
            kept = rows.filter(compute.is_in(rows["analysis"], value_set=wanted))
            sums = kept.group_by([first, second]).aggregate([("times", "sum")])
            columns = (sums[name].to_pylist() for name in (first, second, "times_sum"))
            for start, end, times in zip(*columns):
                found[start, end] += times
        return found

    def autofdo(self) -> Iterator[str]:
        """Write counts for ``create_gcov`` and ``create_llvm_prof``."""
        return autofdo_counts(self.stretches, self.edges)

    def llvm(self) -> Iterator[str]:
        """Write LLVM's sample profile."""
        sources = ProgramSources(self._files)
        blocks = Blocks(Program([image for path in self._files for image in load_elf(path)]))
        instructions = list(code_instructions(blocks, sources.code))
        profile = LlvmProfile(sources.function_at, InlineStacks(self._files).at)
        profile.add([address for _, address in instructions], self._executed(instructions), self.edges)
        return profile.lines()

    def _executed(self, instructions: Sequence[Tuple[Any, int]]) -> CounterOf[int]:
        # Stretches overlap: their ends are summed up in the order of addresses.
        changes: CounterOf[int] = Counter()
        for stretch, times in self.stretches.items():
            changes[stretch.first] += times
            changes[stretch.last + 1] -= times
        found: CounterOf[int] = Counter()
        ends = sorted(changes)
        running = at = 0
        for address in sorted({address for _, address in instructions}):
            while at < len(ends) and ends[at] <= address:
                running += changes[ends[at]]
                at += 1
            found[address] = running
        return found


# By the end of a file's name.
SAMPLE_FORMATS: Dict[str, Tuple[str, Callable[[ProgramSamples], Iterator[str]]]] = {
    ".prof": ("LLVM's sample profile, as text", ProgramSamples.llvm),
    ".afdo": ("counts for AutoFDO's tools", ProgramSamples.autofdo),
}


def check_name(path: str) -> None:
    """Check the end of a file's name.

    :raises CommandError: No format has it.
    """
    if not path.endswith(tuple(SAMPLE_FORMATS)):
        raise CommandError("%s: its name ends with none of %s" % (path, ", ".join(SAMPLE_FORMATS)))


def write_samples(samples: ProgramSamples, path: str) -> str:
    """Write a profile.

    :returns: The format, in words.
    :raises CommandError: It cannot be written.
    """
    words, lines = next(found for end, found in SAMPLE_FORMATS.items() if path.endswith(end))
    try:
        with open(path, "w", encoding="utf-8", newline="\n", opener=through_own_links) as file:
            file.writelines(line + "\n" for line in lines(samples))
    except OSError as error:
        raise CommandError("cannot write %s: %s" % (path, error.strerror)) from error
    return words
