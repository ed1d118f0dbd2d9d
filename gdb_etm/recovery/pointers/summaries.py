"""What is found out about a function."""

from __future__ import annotations

from typing import Final, FrozenSet, NamedTuple

# Argument registers (AAPCS32, 6.1.1).
ARGUMENTS: Final = (0, 1, 2, 3)


class Given(NamedTuple):
    """What a function gets as an argument, through which it stores."""

    objects: FrozenSet[int] = frozenset()
    # Arguments of the caller.
    arguments: FrozenSet[int] = frozenset()
    # Whether it may be an address in the caller's frame.
    frame: bool = False

    def joined(self, other: "Given") -> "Given":
        """Give what it may be that is one of two."""
        return Given(self.objects | other.objects, self.arguments | other.arguments, self.frame or other.frame)


class Summary(NamedTuple):
    """What a function does with its arguments."""

    # Argument registers whose object's address it lets go.
    leaks: FrozenSet[int]
    # Those through which it stores, and those through which it loads.
    stores: FrozenSet[int]
    loads: FrozenSet[int]
    # Whether it has arguments on the stack.
    on_stack: bool
    # What r0 may be made from when it returns.
    returned: FrozenSet[int] = frozenset()


# Of a function that is not known.
LEAKS_ALL = Summary(frozenset(ARGUMENTS), frozenset(ARGUMENTS), frozenset(ARGUMENTS), True)


class Site(NamedTuple):
    """The addresses that a store instruction may have."""

    objects: FrozenSet[int]
    # Whether there are others: what was loaded, say.
    other: bool
    # Arguments that it may be made from; and whether from an address of the function's own frame.
    arguments: FrozenSet[int] = frozenset()
    frame: bool = False


class FrameUse(NamedTuple):
    """What may happen to a frame besides what its function does there."""

    # An address of it is stored somewhere else, or passed to a function that lets it go.
    leaks: bool = False
    # Others may load from it, or it is not known which word is loaded.
    shown: bool = False
    # Others may store to it.
    changed: bool = False
    # An address of it is stored in it.
    spilled: bool = False
    # Arguments are stored where those on the stack go on.
    variadic: bool = False
