"""Numbers as a user types them, and as a script gives them."""

from __future__ import annotations

from gdb_etm.errors import CommandError


def count(text: str) -> int:
    """Convert a number that is not negative, decimal or 0x."""
    try:
        value = int(text, 0)
    except ValueError:
        raise CommandError('"%s" is not a number' % text)
    if value < 0:
        raise CommandError("%s is negative" % text)
    return value


def size(text: str) -> int:
    """Convert a size in bytes, such as ``4096``, ``4K``, ``10M``."""
    scale = {"k": 10, "m": 20}.get(text[-1:].lower(), 0)
    return count(text[:-1] if scale else text) << scale


def hertz(text: str) -> int:
    """Convert a frequency: ``4000000``, ``4M``, ``400k``."""
    scale = {"k": 1000, "m": 1000000}.get(text[-1:].lower(), 1)
    return count(text[:-1] if scale > 1 else text) * scale


def check_number(name: str, value: object) -> None:
    """Check a number that a script gave; None passes.

    :param name: What it is for.
    :raises CommandError: It is no whole number, or negative.
    """
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool):
        raise CommandError("%s: %r is not a number" % (name, value))
    if value < 0:
        raise CommandError("%s: %d is negative" % (name, value))
