"""A register's datasheet page: name, offset, access and bit fields.

A layout is a `construct` BitStruct whose fields stand in the order of the bit diagram, from the most
significant bit down, every reserved gap written out, so that the widths add up to 32 (or 64) bits:

    TRCSTATR = Register("TRCSTATR", 0x00C, "RO", BitStruct(
        reserved(30),
        "PMSTABLE" / bits(1),
        "IDLE" / bits(1)))

What a field's values mean, and when a register or field came into the architecture, is said where it is declared.

Importing `construct` costs about 30 ms, so rooms that GDB loads at start import no register page at
their top.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple, Union

from construct import BitsInteger, BitStruct, Default, Padding, Rebuild

__all__ = [
    "BitStruct", "Field", "Meaning", "Page", "Register", "RegisterArray", "Remarks", "Version", "bits", "members",
    "ones", "reserved", "word",
]

# Major and minor version of an architecture.
Version = Tuple[int, int]
Values = Union[Mapping[int, str], Callable[[int], str]]


class Meaning(NamedTuple):
    """Knowledge of a field beyond its position."""

    # Words for its values; "" or absent where the number says it.
    values: Values = {}
    # What the number is, a few words.
    note: str = ""
    # Version of the architecture that brought it; None: the first of its kind.
    since: Optional[Version] = None
    # Whether the component changes it by itself while it runs.
    moves: bool = False
    # Whether writing it does nothing.
    is_status: bool = False


class Remarks(NamedTuple):
    """Knowledge of a register beyond its fields."""

    # The identification fields that decide whether, and how often, it is there, with blanks between.
    needs: str = ""
    # Version of the architecture that brought it; None: the first of its kind.
    since: Optional[Version] = None
    # What reading it does to the component; empty: nothing.
    reading: str = ""
    # Whether it differs from product to product.
    is_own: bool = False


def bits(width: int, values: Values = {}, **more: Any) -> Any:
    """Declare a field of ``width`` bits; its default is 0.

    :param values: Words for its values.
    :param more: The rest of its :class:`Meaning`.
    """
    field = Default(BitsInteger(width), 0)
    field.meaning = Meaning(values, **more)
    return field


def members(noun: str, first: int = 0) -> Callable[[int], str]:
    """Make the words for a field of one bit per thing.

    :param first: Number of the one whose bit is the lowest.
    """

    def words(value: int) -> str:
        numbers = [str(n + first) for n in range(value.bit_length()) if value >> n & 1]
        return "%s%s %s" % (noun, "s"[len(numbers) == 1:], ", ".join(numbers)) if numbers else ""

    return words


def reserved(width: int) -> Any:
    """Declare ``width`` bits that are RES0: written as 0, ignored when read."""
    return Padding(width)


def ones(width: int) -> Any:
    """Declare ``width`` bits that are RES1: written as ones, ignored when read."""
    return Rebuild(BitsInteger(width), (1 << width) - 1)


def word(name: str, **more: Any) -> Any:
    """Declare a register that is one 32-bit number.

    :param more: Of its :class:`Meaning`.
    """
    return BitStruct(name / bits(32, **more))


class Field(NamedTuple):
    """Where a field lies in its register."""

    name: str
    # Number of its least significant bit.
    low: int
    # In bits.
    width: int
    meaning: Meaning = Meaning()

    def words(self, value: int) -> str:
        """Describe a value; empty where the number is enough."""
        values = self.meaning.values
        return values(value) if callable(values) else values.get(value, "")

    @property
    def mask(self) -> int:
        """The field's bits, in place."""
        return ((1 << self.width) - 1) << self.low


class Register:
    """One register of a component.

    :param name: The datasheet's name.
    :param offset: Byte offset in the component's 4 KiB block.
    :param access: ``"RW"``, ``"RO"`` or ``"WO"``, for a debugger.
    :param layout: BitStruct of the fields; 32 or 64 bits.
    :param remarks: When it is there, and what reading it does.
    :raises ValueError: If the widths do not add up, or a field's name comes twice.
    """

    def __init__(self, name: str, offset: int, access: str, layout: Any, remarks: Remarks = Remarks()) -> None:
        self.name = name
        self.offset = offset
        self.access = access
        self.layout = layout
        self.remarks = remarks
        # In bits: 32, or 64 as two adjacent words, the low one first (IHI 0064, 4.3.1).
        self.width = 8 * int(layout.sizeof())
        if self.width not in (32, 64):
            raise ValueError("%s: the fields add up to %d bits" % (name, self.width))
        if access not in ("RW", "RO", "WO"):
            raise ValueError("%s: access %r" % (name, access))
        self.fields: Dict[str, Field] = _fields(name, layout, self.width)

    @property
    def mask(self) -> int:
        """All bits that belong to a field."""
        return sum(field.mask for field in self.fields.values())

    def decode(self, value: int) -> Mapping[str, int]:
        """Take a register's value apart.

        :param value: As read from the target.
        :returns: Field name to value, most significant field first.
        :raises ValueError: If the value does not fit the register.
        """
        if not 0 <= value < 1 << self.width:
            raise ValueError("%s is %d bits wide, 0x%x does not fit" % (self.name, self.width, value))
        parsed = self.layout.parse(value.to_bytes(self.width // 8, "big"))
        return {name: int(parsed[name]) for name in self.fields}

    def encode(self, **fields: int) -> int:
        """Compose a register's value.

        :raises ValueError: If there is no such field or a value does not fit it.
        """
        for name, value in fields.items():
            if name not in self.fields:
                raise ValueError("%s has no field %s" % (self.name, name))
            if not 0 <= value < 1 << self.fields[name].width:
                raise ValueError("%s.%s is %d bits wide, 0x%x does not fit"
                                 % (self.name, name, self.fields[name].width, value))
        return int.from_bytes(self.layout.build(fields), "big")

    def get(self, value: int, field: str) -> int:
        """Read one field of a register's value."""
        place = self.fields[field]
        return (value & place.mask) >> place.low

    def renamed(self, name: str) -> Register:
        """Return the same register under another name."""
        return Register(name, self.offset, self.access, self.layout, self.remarks)

    @property
    def moving(self) -> int:
        """The bits that the component changes by itself while it runs."""
        return sum(field.mask for field in self.fields.values() if field.meaning.moves)

    def __repr__(self) -> str:
        return "<%s at 0x%03x>" % (self.name, self.offset)


class RegisterArray:
    """Registers of one shape at equal distances, such as TRCACVR0 to TRCACVR15.

    :param name: The datasheet's name with ``%d`` for the index.
    :param offset: Offset of the register with index 0, even where that one does not exist.
    :param stride: Distance between neighbours, in bytes.
    :param indices: The indices that the architecture has room for.
    """

    def __init__(self, name: str, offset: int, access: str, layout: Any, stride: int, indices: range,
                 remarks: Remarks = Remarks()) -> None:
        self.name = name
        self.offset = offset
        self.stride = stride
        self.indices = indices
        self._access = access
        self._layout = layout
        self._remarks = remarks

    def __getitem__(self, index: int) -> Register:
        if index not in self.indices:
            raise IndexError("there is no %s" % (self.name % index))
        return Register(self.name % index, self.offset + self.stride * index, self._access, self._layout,
                        self._remarks)

    def __iter__(self) -> Iterator[Register]:
        return (self[index] for index in self.indices)

    def __len__(self) -> int:
        return len(self.indices)


class Page:
    """All registers of a component, by name and by offset.

    :param title: What the component is called in messages.
    :param declarations: The declarations of a module (its ``globals()``), in the order of the datasheet.
    """

    def __init__(self, title: str, declarations: Mapping[str, object]) -> None:
        self.title = title
        self.by_name: Dict[str, Register] = {}
        self.by_offset: Dict[int, Register] = {}
        for declared in declarations.values():
            for register in _registers(declared):
                self.by_name[register.name] = register
                self.by_offset[register.offset] = register

    def __iter__(self) -> Iterator[Register]:
        return iter(self.by_name.values())

    def at(self, offset: int) -> Tuple[Register, int]:
        """Find the register that a word belongs to.

        :returns: The register, and the lowest of its bits that the word holds: 0, or 32 for a high word.
        :raises KeyError: There is none.
        """
        if offset not in self.by_offset and self.by_offset[offset - 4].width == 64:
            return self.by_offset[offset - 4], 32
        return self.by_offset[offset], 0


def _registers(declared: object) -> List[Register]:
    if isinstance(declared, Register):
        return [declared]
    if isinstance(declared, RegisterArray):
        return list(declared)
    return []


def _fields(register: str, layout: Any, width: int) -> Dict[str, Field]:
    # BitStruct wraps a Struct whose members know their size in bits.
    fields: Dict[str, Field] = {}
    low = width
    for member in layout.subcon.subcons:
        size = int(member.sizeof())
        low -= size
        if member.name is None:
            continue
        if member.name in fields:
            raise ValueError("%s has two fields %s" % (register, member.name))
        fields[member.name] = Field(member.name, low, size, getattr(member.subcon, "meaning", Meaning()))
    return fields
