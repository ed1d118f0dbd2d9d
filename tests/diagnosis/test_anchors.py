"""The board's truth: addresses that compilers make of other objects' own."""

from __future__ import annotations

from pathlib import Path
from typing import Tuple

import pytest

from tests.diagnosis.crashed import fault_of

# The list's address is made of the counter's, which lies before it.
LISTED = """
#include "lib.h"
struct node {
    struct node *next;
    unsigned (*work)(unsigned);
};
static unsigned same(unsigned one)
{
    return one;
}
volatile unsigned sum;
static struct node nodes[3];
NOINLINE void walk(const struct node *one)
{
    for (; one; one = one->next)
        sum += one->work(2);
}
NOINLINE void link_to(struct node *one, struct node *next)
{
    one->next = next;
}
int main(void)
{
    sum = 1;
    nodes[0] = (struct node){&nodes[1], same};
    nodes[1] = (struct node){&nodes[2], same};
    nodes[2] = (struct node){NULL, same};
    walk(nodes);
    link_to(&nodes[2], (struct node *)0x7000a0a0);
    walk(nodes);
    return 0;
}
"""


@pytest.mark.parametrize("flags", [(), ("-mslow-flash-data",)])
def test_an_object_that_lies_behind_another_is_not_outside_of_it(flags: Tuple[str, ...], tmp_path: Path) -> None:
    text = fault_of(tmp_path, LISTED, flags=flags)
    assert "nodes[2].next = 0x7000a0a0: stored from" in text and "==>    walk" not in text
    assert "outside of" not in text
