"""Types of a program's data, by its debug information.

Each is read when something of it is asked.

Ref: DWARF Debugging Information Format, version 5, chapter 5 (types).
"""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from gdb_etm.program.dies import (
    DebugTree,
    attribute,
    has_flag,
    is_of_types,
    linked,
    name_of,
    number_of,
    qualified,
    referred,
)
from gdb_etm.program.expressions import ByteOrder
from gdb_etm.program.spelling import spell

STRUCT, UNION, ARRAY, SCALAR, POINTER, FUNCTION, UNKNOWN = (
    "struct",
    "union",
    "array",
    "scalar",
    "pointer",
    "function",
    "unknown",
)
_KINDS = {
    "DW_TAG_structure_type": STRUCT,
    "DW_TAG_class_type": STRUCT,
    "DW_TAG_interface_type": STRUCT,
    "DW_TAG_union_type": UNION,
    "DW_TAG_array_type": ARRAY,
    "DW_TAG_base_type": SCALAR,
    "DW_TAG_enumeration_type": SCALAR,
    "DW_TAG_string_type": SCALAR,
    "DW_TAG_unspecified_type": SCALAR,
    "DW_TAG_ptr_to_member_type": SCALAR,
    "DW_TAG_pointer_type": POINTER,
    "DW_TAG_reference_type": POINTER,
    "DW_TAG_rvalue_reference_type": POINTER,
    "DW_TAG_subroutine_type": FUNCTION,
}
# They name another type, or say how it may be used.
NAMING = (
    "DW_TAG_typedef",
    "DW_TAG_const_type",
    "DW_TAG_volatile_type",
    "DW_TAG_restrict_type",
    "DW_TAG_atomic_type",
    "DW_TAG_immutable_type",
    "DW_TAG_shared_type",
    "DW_TAG_packed_type",
)
# Of types that name types; of arrays within arrays.
_MOST_NAMES, _MOST_DIMENSIONS = 64, 32
# DW_ATE_boolean, signed, signed_char, unsigned, unsigned_char, UTF, UCS and ASCII (DWARF 5, 7.8).
_INTEGERS = (0x02, 0x05, 0x06, 0x07, 0x08, 0x10, 0x11, 0x12)
# What a program's memory can hold.
_MOST_BYTES = 1 << 48


class Member(NamedTuple):
    """A member of a structure or union, or a base class."""

    # Empty: a base class, or a structure or union without a name.
    name: str
    # Bytes from the structure's first.
    offset: int
    # Bytes; of a bit field those that have a bit of it.
    size: int
    type: DataType


class DataType:
    """A type of data.

    Its properties raise whatever pyelftools does where the file is damaged.

    :param types: Where others are found.
    :param die: Its entry, as pyelftools has it.
    :param dimension: Of an array: how many of its dimensions are left out at the beginning.
    """

    def __init__(self, types: Types, die: Any, dimension: int = 0) -> None:
        self._types, self._die, self._dimension = types, die, dimension
        self._bare: Any = None
        self._members: Optional[Sequence[Member]] = None
        self._name: Optional[str] = None
        self._bounds: Optional[List[Optional[int]]] = None
        self._size: Optional[int] = None

    @property
    def kind(self) -> str:
        """One of STRUCT, UNION, ARRAY, SCALAR, POINTER, FUNCTION and UNKNOWN."""
        return _KINDS.get(self._stripped().tag, UNKNOWN)

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer, character, truth value or enumeration."""
        encoding = self._stripped().attributes.get("DW_AT_encoding")
        return self.kind == SCALAR and (encoding is None or encoding.value in _INTEGERS)

    @property
    def name(self) -> str:
        """As GDB writes it: ``struct item *``, ``int [4]``, ``plant::Tank``."""
        if self._name is None:
            self._name = spell(self._types.tree, self._die, self._dimension)
        return self._name

    @property
    def size(self) -> int:
        """In bytes; 0 where it is not known or incomplete."""
        if self._size is None:
            # A structure that contains itself has no size.
            self._size = 0
            self._size = min(max(self._size_of(self._stripped()), 0), _MOST_BYTES)
        return self._size

    @property
    def target(self) -> Optional[DataType]:
        """What a pointer points to, or a function returns; None: void."""
        return self._types.of(self._stripped())

    @property
    def element(self) -> Optional[DataType]:
        """An array's element; an array itself where there are more dimensions."""
        bare = self._stripped()
        if self._dimension + 1 < len(self._dimensions()):
            return self._types.part(bare, self._dimension + 1)
        return self._types.of(bare)

    @property
    def count(self) -> Optional[int]:
        """An array's elements; None where its type does not say."""
        dimensions = self._dimensions()
        return dimensions[self._dimension] if self._dimension < len(dimensions) else None

    @property
    def members(self) -> Sequence[Member]:
        """Members that have a place, in the order of the declaration."""
        if self._members is None:
            self._members = ()
            self._members = tuple(self._all_members())
        return self._members

    def _stripped(self) -> Any:
        # Without names and qualifiers.
        if self._bare is None:
            die = self._die
            for _ in range(_MOST_NAMES):
                following = referred(die, "DW_AT_type") if die.tag in NAMING else None
                if following is None:
                    break
                die = following
            self._bare = self._types.definition(die)
        return self._bare

    def _size_of(self, bare: Any) -> int:
        whole = number_of(bare, "DW_AT_byte_size")
        if whole is not None and not self._dimension:
            return whole
        kind = _KINDS.get(bare.tag, UNKNOWN)
        if kind == POINTER:
            return self._types.tree.address_size
        if kind == ARRAY:
            element, stride = self.element, number_of(bare, "DW_AT_byte_stride")
            each = stride if stride else element.size if element is not None else 0
            return each * (self.count or 0)
        if bare.tag == "DW_TAG_ptr_to_member_type":
            # Of a function: its address or index, and what is added to the object's.
            target = self._types.of(bare)
            words = 2 if target is not None and target.kind == FUNCTION else 1
            return words * self._types.tree.address_size
        if bare.tag == "DW_TAG_enumeration_type":
            base = self._types.of(bare)
            return base.size if base is not None else 0
        return 0

    def _dimensions(self) -> List[Optional[int]]:
        if self._bounds is None:
            bare = self._stripped()
            self._bounds = []
            if bare.tag == "DW_TAG_array_type":
                ranges = self._types.tree.children_of_kind(bare, "DW_TAG_subrange_type", "DW_TAG_enumeration_type")
                for _, one in zip(range(_MOST_DIMENSIONS), ranges):
                    self._bounds.append(_count(one))
        return self._bounds

    def _all_members(self) -> Iterator[Member]:
        bare = self._stripped()
        for die in self._types.tree.children_of_kind(bare, "DW_TAG_member", "DW_TAG_inheritance"):
            # In DWARF 4 a static member is a member too.
            if "DW_AT_external" in die.attributes or has_flag(die, "DW_AT_declaration"):
                continue
            kind = self._types.of(die)
            place = _place(die, kind.size if kind is not None else 0, self._types.tree.order)
            if kind is not None and place is not None and 0 <= place[0] <= _MOST_BYTES:
                name = name_of(die) if die.tag == "DW_TAG_member" else ""
                yield Member(name, place[0], place[1], kind)


class Types:
    """The types of a file: each is made once.

    :param tree: The file's debug information.
    """

    def __init__(self, tree: DebugTree) -> None:
        self.tree = tree
        self._known: Dict[Tuple[int, bool, int], DataType] = {}
        self._completed: Dict[Tuple[str, str], Optional[Any]] = {}

    def of(self, die: Any) -> Optional[DataType]:
        """Give the type that an entry has by DW_AT_type; None: void."""
        found = referred(die, "DW_AT_type")
        return None if found is None else self.part(found, 0)

    def part(self, die: Any, dimension: int) -> DataType:
        """Give the type of an entry, without an array's first dimensions."""
        key = die.offset, is_of_types(die.cu), dimension
        if key not in self._known:
            self._known[key] = DataType(self, die, dimension)
        return self._known[key]

    def definition(self, die: Any) -> Any:
        """Give the entry that completes a declaration of a type, or itself."""
        if not has_flag(die, "DW_AT_declaration"):
            return die
        if "DW_AT_signature" in die.attributes:
            return linked(die, "DW_AT_signature")
        key = _KINDS.get(die.tag, UNKNOWN), qualified(self.tree, die)
        if key not in self._completed:
            self._completed[key] = self._elsewhere(*key, die)
        found = self._completed[key]
        return die if found is None else found

    def _elsewhere(self, kind: str, name: str, die: Any) -> Optional[Any]:
        # The definition in another unit of what is only declared in one.
        for one in self.tree.namesakes(die):
            if _KINDS.get(one.tag) == kind and not has_flag(one, "DW_AT_declaration"):
                if qualified(self.tree, one) == name:
                    return one
        return None


def _count(bound: Any) -> Optional[int]:
    # How many indices there are; an upper bound of -1 is that of no element.
    count = number_of(bound, "DW_AT_count")
    if count is None:
        upper = number_of(bound, "DW_AT_upper_bound")
        if upper is None:
            return None
        count = upper + 1 - (number_of(bound, "DW_AT_lower_bound") or 0)
    return count if 0 <= count < 1 << 32 else 0


def _place(die: Any, size: int, order: ByteOrder) -> Optional[Tuple[int, int]]:
    # First byte and size of a member; None where it is computed, as that of a virtual base class (DWARF 5, 5.7.6).
    location = attribute(die, "DW_AT_data_member_location")
    offset = 0
    if location is not None:
        found = location.value if isinstance(location.value, int) else _constant(location.value)
        if found is None:
            return None
        offset = found
    bits = number_of(die, "DW_AT_bit_size")
    if bits is None:
        return offset, size
    first = number_of(die, "DW_AT_data_bit_offset")
    if first is None:
        # DWARF 3: from the most significant bit of a unit of storage.
        unit = 8 * (number_of(die, "DW_AT_byte_size") or size)
        high = number_of(die, "DW_AT_bit_offset") or 0
        first = unit - high - bits if order == "little" else high
    first += 8 * offset
    return first // 8, (first + bits - 1) // 8 - first // 8 + 1


def _constant(expression: Any) -> Optional[int]:
    # DW_OP_plus_uconst, as DWARF 2 has a member's place.
    if not isinstance(expression, (list, bytes)) or len(expression) < 2 or expression[0] != 0x23:
        return None
    value = 0
    for index, byte in enumerate(expression[1:]):
        value |= (byte & 0x7F) << 7 * index
    return value
