"""The board's truth: locals that nobody has set."""

from __future__ import annotations

from pathlib import Path

from tests.diagnosis.crashed import fault_of

FLAGS = ("-Os", "-fno-inline", "-fno-tree-loop-distribute-patterns")
BINDINGS = """
#include "lib.h"
struct binding { char name[24]; unsigned (*call)(unsigned *, unsigned); unsigned *context; };
struct kept { unsigned (*call)(unsigned *, unsigned); unsigned *context; };
static volatile unsigned sum;
static struct kept kept[4];
NOINLINE unsigned scale(unsigned *factor, unsigned value)
{
    return *factor * value;
}
NOINLINE void noise(unsigned seed)
{
    volatile unsigned words[60];
    for (unsigned at = 0; at < 60; ++at)
        words[at] = 0x30000010 + seed;
    sum += words[7];
}
NOINLINE void bind(struct kept *to, const struct binding *from, unsigned count)
{
    for (unsigned at = 0; at < count; ++at) {
        to[at].call = from[at].call;
        to[at].context = from[at].context;
    }
}
NOINLINE void setup(unsigned *own)
{
    struct binding bindings[2];
    bindings[0].name[0] = 'a';
    bindings[0].call = scale;
    bindings[0].context = own;
    bindings[1].name[0] = 'b';
    bindings[1].call = scale;
    bind(kept, bindings, 2);
}
int main(void)
{
    static unsigned own = 3;
    noise(4);
    setup(&own);
    sum += kept[0].call(kept[0].context, 2);
    sum += kept[1].call(kept[1].context, 2);
}
"""


def test_a_local_of_a_caller_that_is_read_by_its_address(tmp_path: Path) -> None:
    text = fault_of(tmp_path, BINDINGS, flags=FLAGS)
    assert (
        "==>    setup, crash.c:33: calls bind, which reads bindings[1].context, which setup has not set" in text
    ), text
