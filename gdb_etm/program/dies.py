"""Debug information entries of an ELF file, read only where somebody looks.

A program with a library of C++ has a million entries, and pyelftools reads some ten thousand in a second.  So entries
are found by what stands in them, such as an address: from the top, over whole subtrees, to the entry that holds a
certain byte of .debug_info.  Only such entries are given to pyelftools.

Ref: DWARF Debugging Information Format, version 5, 2.3 (trees), 7.5 (.debug_info, .debug_abbrev, forms).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import islice
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.errors import ImageError
from gdb_etm.program.debug_sections import DebugInformation
from gdb_etm.program.expressions import ByteOrder
from gdb_etm.program.names import name_text

# How to go over an attribute: so many bytes; the offset of the next sibling; LEB128; a string; a length and a block.
_FIXED, _SIBLING, _LEB, _STRING, _BLOCK = range(5)
_SIZES = {
    **dict.fromkeys(("flag_present", "implicit_const"), 0),
    **dict.fromkeys(("data1", "flag", "ref1", "strx1", "addrx1"), 1),
    **dict.fromkeys(("data2", "ref2", "strx2", "addrx2"), 2),
    **dict.fromkeys(("strx3", "addrx3"), 3),
    **dict.fromkeys(("data4", "ref4", "strx4", "addrx4", "ref_sup4"), 4),
    **dict.fromkeys(("data8", "ref8", "ref_sig8", "ref_sup8"), 8),
    "data16": 16,
}
_OFFSETS = ("strp", "sec_offset", "line_strp", "ref_addr", "strp_sup", "GNU_ref_alt", "GNU_strp_alt")
_LEBS = ("sdata", "udata", "ref_udata", "strx", "addrx", "loclistx", "rnglistx", "GNU_str_index", "GNU_addr_index")
_BLOCKS = {"exprloc": 0, "block": 0, "block1": 1, "block2": 2, "block4": 4}
# Of references from entry to entry that are followed, and of entries within entries.
_MOST_STEPS, _MOST_LEVELS = 16, 64
_MOST_NAMESAKES = 256
# Of a length: the real one follows (DWARF 5, 7.4).
_IN_64_BITS = 0xFFFFFFFF
# Of a number in LEB128.
_MOST_BITS = 128
_ORIGINS = ("DW_AT_specification", "DW_AT_abstract_origin")


class _Shape(NamedTuple):
    tag: str
    has_children: bool
    # Whether it says of what code it is.
    has_code: bool
    # How to go over its attributes, and by how much.
    steps: Tuple[Tuple[int, int], ...]


class _Children(NamedTuple):
    offsets: List[int]
    # Where their attributes end.
    ends: List[int]
    shapes: List[_Shape]


class DebugTree:
    """The debug information of an ELF file.

    Its methods raise whatever pyelftools does where it is damaged; see :func:`~gdb_etm.program.elf.readable`.

    :param elf: The file, as pyelftools has it.  It may be closed afterwards.
    """

    def __init__(self, elf: Any) -> None:
        self.information = DebugInformation(elf)
        self.dwarf = self.information.dwarf
        self.data: bytes = self.dwarf.debug_info_sec.stream.getvalue()
        self.address_size: int = elf.elfclass // 8
        self.order: ByteOrder = self.information.order
        self._starts = list(_unit_starts(self.data, self.order))
        # Older versions of pyelftools do not know the section.
        types = getattr(self.dwarf, "debug_types_sec", None)
        self._types_data: bytes = types.stream.getvalue() if types is not None else b""
        self._shapes: Dict[Tuple[int, int, int, int], Dict[int, _Shape]] = {}
        # By section and offset.
        self._children: Dict[Tuple[bool, int], _Children] = {}

    def unit_at(self, offset: int) -> Any:
        """Give the unit that holds an offset of .debug_info.

        :raises ImageError: None does.
        """
        index = bisect_right(self._starts, offset) - 1
        if index < 0 or offset >= len(self.data):
            raise ImageError("no unit at offset 0x%x" % offset)
        return self.dwarf.get_CU_at(self._starts[index])

    @property
    def unit_offsets(self) -> Sequence[int]:
        """Where units begin in .debug_info."""
        return self._starts

    def children_of_kind(self, die: Any, *tags: str, with_code: bool = False) -> Iterator[Any]:
        """Give an entry's children that have one of some tags.

        :param with_code: Only those that say of what code they are.
        """
        found = self._children_of(die.cu, die.offset)
        for offset, shape in zip(found.offsets, found.shapes):
            if shape.tag in tags and (shape.has_code or not with_code):
                yield die.cu.get_DIE_from_refaddr(offset)

    def path(self, position: int) -> List[Any]:
        """Give the entries around a byte of .debug_info, from a unit's down.

        The last one holds the byte itself, its children do not.
        """
        return self._path(self.unit_at(position), position)

    def around(self, die: Any) -> List[Any]:
        """Give the entries around an entry, from its unit's down to itself."""
        return self._path(die.cu, die.offset)

    def _path(self, unit: Any, position: int) -> List[Any]:
        at = unit.cu_die_offset
        found = [at]
        while len(found) < _MOST_LEVELS:
            children = self._children_of(unit, at)
            index = bisect_right(children.offsets, position) - 1
            # An entry's attributes stand before its first child.
            if index < 0:
                break
            at = children.offsets[index]
            found.append(at)
            if position < children.ends[index]:
                break
        return [unit.get_DIE_from_refaddr(offset) for offset in found]

    def namesakes(self, die: Any) -> Iterator[Any]:
        """Give other entries with an entry's name, in any unit.

        There may be more than are given.
        """
        name = die.attributes.get("DW_AT_name")
        if name is None or not isinstance(name.value, bytes) or not name.value:
            return
        # Linkers keep one copy of a string in .debug_str.
        is_offset = name.form == "DW_FORM_strp"
        size = die.cu.structs.dwarf_format // 8
        pattern = name.raw_value.to_bytes(size, self.order) if is_offset else name.value + b"\0"
        for found in islice(re.finditer(re.escape(pattern), self.data), _MOST_NAMESAKES):
            other = self.path(found.start())[-1]
            if other.offset != die.offset and name_of(other) == name_of(die):
                yield other

    def _children_of(self, unit: Any, offset: int) -> _Children:
        key = is_of_types(unit), offset
        found = self._children.get(key)
        if found is None:
            found = self._children[key] = _Children([], [], [])
            shape, at, _ = self._entry(unit, offset)
            if shape is not None and shape.has_children:
                for child, end, child_shape in self._list(unit, at):
                    found.offsets.append(child)
                    found.ends.append(end)
                    found.shapes.append(child_shape)
        return found

    def _list(self, unit: Any, at: int) -> Iterator[Tuple[int, int, _Shape]]:
        # The entries from an offset on that are siblings.
        level, end = 0, unit.cu_offset + unit.size
        while at < end:
            start = at
            shape, at, sibling = self._entry(unit, at)
            if shape is None:
                level -= 1
                if level < 0:
                    return
                continue
            if level == 0:
                yield start, at, shape
            if shape.has_children:
                if sibling is not None and sibling >= at:
                    at = sibling
                else:
                    level += 1

    def _entry(self, unit: Any, at: int) -> Tuple[Optional[_Shape], int, Optional[int]]:
        # What is at an offset (None: the end of a list), the offset behind its attributes, and the next sibling's.
        data = self._types_data if is_of_types(unit) else self.data
        code, at = _uleb(data, at)
        if code == 0:
            return None, at, None
        shape = self._shape(unit, code)
        sibling = None
        for kind, amount in shape.steps:
            if kind == _FIXED:
                at += amount
            elif kind == _SIBLING:
                sibling = unit.cu_offset + int.from_bytes(data[at : at + amount], self.order)
                at += amount
            elif kind == _STRING:
                at = data.index(0, at) + 1
            elif kind == _LEB:
                _, at = _uleb(data, at)
            elif amount:
                at += amount + int.from_bytes(data[at : at + amount], self.order)
            else:
                length, at = _uleb(data, at)
                at += length
        return shape, at, sibling

    def _shape(self, unit: Any, code: int) -> _Shape:
        key = unit["debug_abbrev_offset"], unit["version"], unit["address_size"], unit.dwarf_format()
        shapes = self._shapes.setdefault(key, {})
        found = shapes.get(code)
        if found is None:
            declaration = unit.get_abbrev_table().get_abbrev(code)
            steps: List[Tuple[int, int]] = []
            has_code = False
            for name, form in declaration.iter_attr_specs():
                has_code = has_code or name in ("DW_AT_low_pc", "DW_AT_ranges")
                step = _step(str(name), str(form), unit)
                if step[0] == _FIXED and steps and steps[-1][0] == _FIXED:
                    step = (_FIXED, steps.pop()[1] + step[1])
                steps.append(step)
            tag, has_children = str(declaration["tag"]), bool(declaration.has_children())
            found = shapes[code] = _Shape(tag, has_children, has_code, tuple(steps))
        return found


def _unit_starts(data: bytes, order: ByteOrder) -> Iterator[int]:
    # By their lengths (DWARF 5, 7.5.1.1): pyelftools takes a millisecond and more for a header.
    at = 0
    while at + 4 <= len(data):
        yield at
        length = int.from_bytes(data[at : at + 4], order)
        if length == _IN_64_BITS:
            at, length = at + 8, int.from_bytes(data[at + 4 : at + 12], order)
        at += 4 + length


def is_of_types(unit: Any) -> bool:
    """Say whether a unit is in .debug_types (DWARF 4, 7.5.1.2)."""
    return hasattr(unit, "tu_offset")


def _step(name: str, form: str, unit: Any) -> Tuple[int, int]:
    short = form.replace("DW_FORM_", "", 1)
    size = _SIZES.get(short)
    if short == "addr":
        size = unit["address_size"]
    elif short == "ref_addr" and unit["version"] < 3:
        size = unit["address_size"]
    elif short in _OFFSETS:
        size = unit.dwarf_format() // 8
    if size is not None:
        is_sibling = name == "DW_AT_sibling" and short in ("ref1", "ref2", "ref4", "ref8")
        return _SIBLING if is_sibling else _FIXED, size
    if short in _BLOCKS:
        return _BLOCK, _BLOCKS[short]
    if short == "string":
        return _STRING, 0
    if short in _LEBS:
        return _LEB, 0
    raise ImageError("unknown form %s" % form)


def _uleb(data: bytes, at: int) -> Tuple[int, int]:
    value = data[at]
    at += 1
    if value < 0x80:
        return value, at
    value &= 0x7F
    shift = 7
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > _MOST_BITS:
            raise ImageError("a number of more than %d bits" % _MOST_BITS)


def attribute(die: Any, name: str) -> Optional[Any]:
    """Find an attribute of an entry or of its origins.

    Of the entries that DW_AT_specification and DW_AT_abstract_origin name (DWARF 5, 2.13 and 3.3.8), the first counts.
    """
    holder = holder_of(die, name)
    return None if holder is None else holder.attributes[name]


def holder_of(die: Any, name: str) -> Optional[Any]:
    """Find the entry that has an attribute: this or an origin."""
    for one in origins(die):
        if name in one.attributes:
            return one
    return None


def origins(die: Any) -> Iterator[Any]:
    """Give an entry, then what it completes or copies."""
    for _ in range(_MOST_STEPS):
        yield die
        link = next((name for name in _ORIGINS if name in die.attributes), None)
        if link is None:
            return
        die = linked(die, link)


def referred(die: Any, name: str) -> Optional[Any]:
    """Give the entry that an attribute refers to; None without one."""
    holder = holder_of(die, name)
    return None if holder is None else linked(holder, name)


def linked(die: Any, name: str) -> Any:
    """Give the entry that an entry's own attribute refers to."""
    found = die.attributes[name]
    if found.form == "DW_FORM_ref_sig8" and die.cu["version"] >= 5:
        # Units of types are among the others; pyelftools looks in .debug_types.
        for unit in die.dwarfinfo.iter_CUs():
            if unit.header.get("type_signature") == found.value:
                return unit.get_DIE_from_refaddr(unit.cu_offset + unit["type_offset"])
    return die.get_DIE_from_attribute(name)


def name_of(die: Any) -> str:
    """Give an entry's own name; empty without one."""
    found = attribute(die, "DW_AT_name")
    return name_text(found.value) if found is not None and isinstance(found.value, bytes) else ""


def number_of(die: Any, name: str) -> Optional[int]:
    """Give an attribute that is a number; None where it is none."""
    found = attribute(die, name)
    is_number = found is not None and isinstance(found.value, int) and not str(found.form).startswith("DW_FORM_ref")
    return found.value if found is not None and is_number else None


def has_flag(die: Any, name: str) -> bool:
    """Say whether an entry has a flag that is set."""
    found = die.attributes.get(name)
    return found is not None and bool(found.value)


def qualified(tree: DebugTree, die: Any, level: int = 0) -> str:
    """Give an entry's name with the namespaces, classes and functions around it."""
    *_, original = origins(die)
    steps: List[str] = []
    for one in tree.around(original)[1:-1] if level < _MOST_STEPS else ():
        if one.tag == "DW_TAG_subprogram":
            steps = [qualified(tree, one, level + 1)]
        elif one.tag == "DW_TAG_namespace":
            steps.append(name_of(one) or "(anonymous namespace)")
        elif one.tag in ("DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type"):
            steps.append(name_of(one))
    return "::".join([step for step in steps if step] + [name_of(die)])
