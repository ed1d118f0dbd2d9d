"""Memory by its declaration: an object, its members, their elements."""

from __future__ import annotations

from typing import Iterator, List, NamedTuple, Optional, Tuple

from gdb_etm.errors import ImageError
from gdb_etm.program.datatypes import ARRAY, FUNCTION, POINTER, STRUCT, UNION, DataType, Member
from gdb_etm.program.elf import readable

# Of members within members.
_MOST_LEVELS = 64
_UNREADABLE = "has debug information that cannot be read"


class Container(NamedTuple):
    """Memory that a program declares: a variable, member or element."""

    # In C's words: ``station.table[2].handler``.  A base class, and a structure without a name, have that of what holds
    # them.
    path: str
    # Its first address.
    start: int
    # In bytes; of a bit field those that have a bit of it.
    size: int
    # One of STRUCT, UNION, ARRAY, SCALAR and POINTER; UNKNOWN where there is no debug information.
    kind: str
    # As GDB writes it; empty where it is not known.
    type_name: str
    # Of an array: its elements' size in bytes, and their number.
    element_size: int = 0
    element_count: int = 0

    @property
    def end(self) -> int:
        """The address just past it."""
        return self.start + self.size

    @property
    def is_pointer(self) -> bool:
        """Whether it holds an address; a reference of C++ does too."""
        return self.kind == POINTER


class Pointee(NamedTuple):
    """What a pointer points to by its type."""

    type_name: str
    # In bytes; 0 for a function.
    size: int
    is_function: bool


def pointee_of(kind: DataType) -> Optional[Pointee]:
    """Give what a pointer of a type points to.

    :returns: None for what is no pointer, for ``void *``, and where the type is incomplete.
    """
    target = kind.target if kind.kind == POINTER else None
    if target is None:
        return None
    is_function = target.kind == FUNCTION
    return Pointee(target.name, target.size, is_function) if target.size or is_function else None


def known_pointee(kind: DataType) -> Optional[Pointee]:
    """Give what :func:`pointee_of` does; None where the file is damaged."""
    try:
        with readable("", _UNREADABLE):
            return pointee_of(kind)
    except ImageError:
        return None


def known_containers(
    path: str, kind: DataType, start: int, size: int, address: int
) -> List[Tuple[Container, DataType]]:
    """Give what :func:`containers_of` does, as far as the file is readable."""
    found: List[Tuple[Container, DataType]] = []
    try:
        with readable("", _UNREADABLE):
            for one in containers_of(path, kind, start, size, address):
                found.append(one)
    except ImageError:
        pass  # what was found is right
    return found


def containers_of(
    path: str, kind: DataType, start: int, size: int, address: int
) -> Iterator[Tuple[Container, DataType]]:
    """Give what holds an address within an object, from the outside in.

    :param path: The object's name.
    :param kind: Its type.
    :param start: Its first address.
    :param size: Its size in bytes, which may be more than its type's, where that ends with an array without a bound.
    :param address: One that the object holds.
    """
    limit = start + size
    for _ in range(_MOST_LEVELS):
        each, count = _elements(kind, size)
        yield Container(path, start, size, kind.kind, kind.name, each, count), kind
        if kind.kind in (STRUCT, UNION):
            found = _member(kind, address - start, limit - start)
            if found is None:
                return
            member, size = found
            if member.name:
                path = "%s.%s" % (path, member.name)
            start, kind = start + member.offset, member.type
        elif kind.kind == ARRAY and kind.element is not None and each:
            index = (address - start) // each
            if index >= count:
                return
            path, start, kind, size = "%s[%d]" % (path, index), start + index * each, kind.element, each
        else:
            return
        limit = start + size


def _elements(kind: DataType, size: int) -> Tuple[int, int]:
    # Size and number of an array's elements: as many as there is room for.
    element = kind.element if kind.kind == ARRAY else None
    if element is None or not element.size:
        return 0, 0
    return element.size, size // element.size


def _member(kind: DataType, offset: int, limit: int) -> Optional[Tuple[Member, int]]:
    # The one that holds an offset, and its size: of a union the first, of a structure the one that begins last, since
    # a derived class may use what is left of a base class.
    members = [one for one in kind.members if one.offset <= offset and (one.name or one.type.members)]
    there = [one for one in members if offset < one.offset + min(one.size, limit - one.offset)]
    if there:
        found = there[0] if kind.kind == UNION else max(there, key=_offset)
        return found, min(found.size, limit - found.offset)
    # An array without a bound at the end has the rest.
    last = max(members, key=_offset, default=None)
    if last is None or not _is_open(last.type) or not offset < limit:
        return None
    return last, limit - last.offset


def _offset(member: Member) -> int:
    return member.offset


def _is_open(kind: DataType) -> bool:
    return kind.kind == ARRAY and not kind.count
