"""Worked by hand, and a differential run against GDB: C++ variables."""

from __future__ import annotations

from pathlib import Path
from typing import Tuple

import pytest

from gdb_etm.program.containers import Pointee
from gdb_etm.program.datatypes import POINTER, SCALAR, STRUCT
from gdb_etm.program.variables import load_variables
from tests.program.declared import ask_gdb, compiled

SOURCE = """
void operator delete(void *, unsigned) {}
extern "C" int __cxa_pure_virtual() { return 0; }
namespace plant {
struct Empty {};
struct Shape { virtual int area() const = 0; int edges; char tag; };
struct Named { const char *name; int ids[3]; };
class Square : public Empty, public Shape, public Named {
public:
    explicit Square(int side) : side(side) { count += side; }
    int area() const override { static int calls[2]; return side * side + calls[0]++; }
    static int count;
    char late;
private:
    int side;
    union { int raw; float real; };
    enum class Colour : unsigned char { RED } colour;
    int Named::*which;
    int (Square::*method)() const;
};
int Square::count;
struct Base { int a; char b; Base() : a(1) {} };
struct Derived : Base { char c; Derived() : c(2) {} };
template <typename T, int N> struct Ring { T items[N]; unsigned head; Ring *other; };
struct Left : virtual Base { int left; };
namespace { Square hidden(3); }
Ring<Square *, 4> ring;
Derived derived;
Left diamond;
Shape &shape = hidden;
struct Node;
Node *opaque;
}
static plant::Ring<plant::Derived, 2> rings[2];
using handler = void (*)(plant::Shape &, int);
handler handlers[3];
extern int outside;
int outside = 4;
int main() { return plant::hidden.area() + rings[1].items[0].c + outside + plant::Square::count + (plant::shape.edges)
    + plant::diamond.left; }
"""
PATHS = """
plant::ring plant::ring.items plant::ring.items[3] plant::ring.head plant::ring.other rings rings[1] rings[1].items[1]
rings[1].items[1].a rings[1].items[1].c plant::derived plant::derived.b plant::derived.c plant::Square::count outside
handlers handlers[2] plant::opaque plant::diamond.left plant::hidden.edges plant::hidden.tag plant::hidden.name
plant::hidden.ids plant::hidden.ids[2] plant::hidden.late plant::hidden.side plant::hidden.raw plant::hidden.colour
plant::hidden.which plant::hidden.method
""".split()
HIDDEN = "plant::(anonymous namespace)::hidden"
OPTIONS = [("-gdwarf-5", "-O0"), ("-gdwarf-4", "-O2"), ("-gdwarf-5", "-O2", "-flto")]


def build(folder: Path, *options: str) -> str:
    """Compile the program."""
    fixed = ("-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-fno-use-cxa-atexit")
    return compiled(SOURCE, folder, *fixed, *options, name="declared.cpp")


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
def test_members_are_where_gdb_says(options: Tuple[str, ...], tmp_path: Path) -> None:
    path = build(tmp_path, *options)
    variables = load_variables([path])
    asked = [name.replace("plant::hidden", "'%s'" % HIDDEN) for name in PATHS]
    for name, said in zip(PATHS, ask_gdb(path, asked, tmp_path)):
        # Whole optimisation drops what nobody uses.
        if said is None or said.address is None:
            assert "-flto" in options, name
            continue
        mine = name.replace("plant::hidden", HIDDEN)
        for address in (said.address, said.address + said.size - 1):
            found = [one for one in variables.containers(address) if one.path == mine]
            assert found, (name, variables.containers(address))
            assert (found[0].start, found[0].size) == (said.address, said.size), name
            # GDB says what "this" is, too.
            assert found[0].type_name == said.type_name or name.endswith(".method"), name


def test_base_classes_are_containers_without_a_step(tmp_path: Path) -> None:
    path = build(tmp_path)
    variables = load_variables([path])
    hidden, edges = ask_gdb(path, ["'%s'" % HIDDEN, "'%s'.edges" % HIDDEN], tmp_path)
    assert hidden is not None and hidden.address is not None and edges is not None and edges.address is not None
    assert [(one.path, one.kind, one.type_name) for one in variables.containers(edges.address)] == [
        (HIDDEN, STRUCT, "plant::Square"),
        (HIDDEN, STRUCT, "plant::Shape"),
        (HIDDEN + ".edges", SCALAR, "int"),
    ]
    table = variables.path_at(hidden.address)
    assert table is not None and (table.path, table.kind, table.size) == (HIDDEN + "._vptr.Shape", POINTER, 4)


def test_references_and_pointers(tmp_path: Path) -> None:
    path = build(tmp_path)
    variables = load_variables([path])
    starts = {one.name: one.start for one in variables.symbols}
    shape = variables.path_at(starts["_ZN5plant5shapeE"])
    assert shape is not None and (shape.kind, shape.type_name) == (POINTER, "plant::Shape &")
    assert variables.pointee(shape.start) == Pointee("plant::Shape", 12, False)
    assert variables.pointee(starts["_ZN5plant6opaqueE"]) is None
    assert variables.pointee(starts["handlers"]) == Pointee("void (plant::Shape &, int)", 0, True)
    (calls,) = (one.start for one in variables.symbols if "calls" in one.name)
    assert [one.path for one in variables.containers(calls)][0] == "plant::Square::area::calls"
