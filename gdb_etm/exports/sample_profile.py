"""Sample profiles, by which compilers optimise for what ran.

LLVM's text (``clang -fprofile-sample-use=``): llvm/ProfileData/SampleProfReader.h has the grammar.  A line's count is
that of its most frequent instruction, a function's is the sum of its instructions' counts.

AutoFDO's counts (``create_gcov`` for GCC, ``create_llvm_prof``, with ``--profiler=text``): ranges, addresses and
branches, each list after its length; google/autofdo, sample_reader.cc.
"""

from __future__ import annotations

from collections import Counter
from typing import Callable
from typing import Counter as CounterOf
from typing import Dict, Iterator, List, Mapping, Optional, Sequence, Tuple

from gdb_etm.analysis.edges import Edge, Stretch
from gdb_etm.history.frames import Function
from gdb_etm.program.inline_stacks import RelativeLine

# A line, and its discriminator.
_Spot = Tuple[int, int]
# LLVM counts lines modulo this.
_LINES = 1 << 16


def autofdo_counts(stretches: Mapping[Stretch, int], edges: Mapping[Edge, int]) -> Iterator[str]:
    """Write counts as AutoFDO's tools read them."""
    yield "%d" % len(stretches)
    for stretch, times in sorted(stretches.items()):
        yield "%x-%x:%d" % (*stretch, times)
    # Samples of single addresses: there are none.
    yield "0"
    yield "%d" % len(edges)
    for edge, times in sorted(edges.items()):
        yield "%x->%x:%d" % (*edge, times)


class _Samples:
    # Of a function, or of one that was inlined at a line of another.

    def __init__(self) -> None:
        self.total = self.head = 0
        self.lines: Dict[_Spot, int] = {}
        self.targets: Dict[_Spot, CounterOf[str]] = {}
        self.inlined: Dict[Tuple[_Spot, str], _Samples] = {}

    def inner(self, stack: Sequence[RelativeLine], times: int) -> Tuple[_Samples, _Spot]:
        # Counts an instruction in all but the innermost function of a stack, and gives that.
        found = self
        for outer, inner in zip(stack, stack[1:]):
            found.total += times
            found = found.inlined.setdefault((_spot(outer), inner.function), _Samples())
        return found, _spot(stack[-1])

    def text(self, depth: int) -> Iterator[str]:
        pad = " " * depth
        for spot, times in sorted(self.lines.items()):
            targets = sorted(self.targets.get(spot, {}).items(), key=lambda one: (-one[1], one[0]))
            calls = "".join(" %s:%d" % one for one in targets)
            yield "%s%s: %d%s" % (pad, _spot_text(spot), times, calls)
        for (spot, name), samples in sorted(self.inlined.items()):
            yield "%s%s: %s:%d" % (pad, _spot_text(spot), name, samples.total)
            yield from samples.text(depth + 1)


class LlvmProfile:
    """Collects counts of instructions and edges by function and line.

    :param function_at: Finds functions, by their names for the linker.
    :param stack_at: Finds lines.
    """

    def __init__(
        self, function_at: Callable[[int], Optional[Function]], stack_at: Callable[[int], Sequence[RelativeLine]]
    ) -> None:
        self._function_at = function_at
        self._stack_at = stack_at
        self._functions: Dict[str, _Samples] = {}

    def add(self, addresses: Sequence[int], executed: Mapping[int, int], edges: Mapping[Edge, int]) -> None:
        """Count instructions.

        :param addresses: Of all instructions of the program: those that did not run count nothing, where others of
            their function did.
        :param executed: How often each ran.
        :param edges: How often control went from one to another.
        """
        ran = {self._function_at(address) for address, times in executed.items() if times}
        inside: CounterOf[int] = Counter()
        leaving: Dict[int, List[Tuple[Edge, int]]] = {}
        for edge, times in edges.items():
            source, target = self._function_at(edge.source), self._function_at(edge.target)
            if target is not None and target.start == edge.target:
                if source == target:
                    inside[edge.target] += times
                else:
                    leaving.setdefault(edge.source, []).append((edge, times))
        for address in addresses:
            function = self._function_at(address)
            stack = self._stack_at(address) if function is not None and function in ran else ()
            if function is None or not stack:
                continue
            times = executed.get(address, 0)
            samples = self._functions.setdefault(_plain(function.name), _Samples())
            if address == function.start:
                # Whoever enters begins here; so do loops within.
                samples.head += max(times - inside[address], 0)
            samples, spot = samples.inner(stack, times)
            samples.total += times
            samples.lines[spot] = max(samples.lines.get(spot, 0), times)
            for edge, count in leaving.get(address, ()):
                called = self._function_at(edge.target)
                if called is not None:
                    samples.targets.setdefault(spot, Counter())[_plain(called.name)] += count

    def lines(self) -> Iterator[str]:
        """Write the profile, the most expensive function first."""
        for name, samples in sorted(self._functions.items(), key=lambda one: (-one[1].total, one[0])):
            yield "%s:%d:%d" % (name, samples.total, samples.head)
            yield from samples.text(1)


def _spot(line: RelativeLine) -> _Spot:
    return line.offset % _LINES, base_discriminator(line.discriminator)


def base_discriminator(found: int) -> int:
    """Take the part of a discriminator that profiles name.

    LLVM packs three numbers into one, each with a prefix of its length (llvm/IR/DebugInfoMetadata.h,
    getUnsignedFromPrefixEncoding).
    """
    if found & 1:
        return 0
    rest = found >> 1
    return rest >> 1 & 0xFE0 | rest & 0x1F if rest & 0x20 else rest & 0x1F


def _spot_text(spot: _Spot) -> str:
    return "%d.%d" % spot if spot[1] else "%d" % spot[0]


def _plain(name: str) -> str:
    # A copy that the compiler made of a function, such as "put.constprop.0", is the function in its source.
    return name.partition(".")[0] or name
