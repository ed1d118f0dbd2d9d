"""Requests, profiles and findings as JSON, and back, by their declared types.

Only what the types declare is made of what is read: named tuples, data classes and enums of this package.
"""

from __future__ import annotations

import enum
from collections import abc
from dataclasses import fields, is_dataclass
from typing import Any, Dict, Iterator, List, Tuple, Type, TypeVar, Union, get_type_hints

from gdb_etm.errors import CaptureError, plain
from gdb_etm.traceunit.events import Event

_T = TypeVar("_T")
_KIND = "is"
_DEEPEST = 50
_LARGEST = 1 << 64


def to_json(value: Any) -> Any:
    """Write a value as what JSON has."""
    if isinstance(value, enum.Enum):
        return value.name
    if is_dataclass(value) or hasattr(value, "_fields"):
        names = value._fields if hasattr(value, "_fields") else [each.name for each in fields(value)]
        return {_KIND: type(value).__name__, **{name: to_json(getattr(value, name)) for name in names}}
    if isinstance(value, abc.Mapping):
        return [[to_json(key), to_json(each)] for key, each in value.items()]
    if isinstance(value, (list, tuple)):
        return [to_json(each) for each in value]
    return value


def from_json(wanted: Type[_T], found: Any) -> _T:
    """Make a value of a type.

    :raises CaptureError: What was found is no such value.
    """
    try:
        made: _T = _made(wanted, found, 0)
    except CaptureError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise CaptureError("%s: %s" % (getattr(wanted, "__name__", wanted), error)) from None
    return made


def _made(wanted: Any, found: Any, depth: int) -> Any:
    if depth > _DEEPEST:
        raise CaptureError("nested too deep")
    origin: Any = getattr(wanted, "__origin__", None)
    inner: Any = getattr(wanted, "__args__", ())
    if wanted is Event:
        return _of_any(list(_kinds_of(Event)), found, depth)
    if origin is Union:
        return _of_union(inner, found, depth)
    if origin is tuple:
        return tuple(_made(inner[0], each, depth + 1) for each in _list(found))
    if origin is abc.Mapping:
        pairs = [_list(pair) for pair in _list(found)]
        return {_made(inner[0], key, depth + 1): _made(inner[1], each, depth + 1) for key, each in pairs}
    if isinstance(wanted, type) and issubclass(wanted, enum.Enum):
        return wanted[_checked(str, found)]
    if wanted in (int, str, bool):
        return _checked(wanted, found)
    return _object(wanted, found, depth)


def _of_union(inner: Tuple[Any, ...], found: Any, depth: int) -> Any:
    if found is None and type(None) in inner:
        return None
    kinds: List[Any] = [each for each in inner if each is not type(None)]
    return _made(kinds[0], found, depth + 1) if len(kinds) == 1 else _of_any(kinds, found, depth)


def _of_any(kinds: List[Any], found: Any, depth: int) -> Any:
    name = _checked(dict, found).get(_KIND)
    for kind in kinds:
        if kind.__name__ == name:
            return _object(kind, found, depth)
    raise CaptureError("%r is none of %s" % (str(name)[:40], ", ".join(kind.__name__ for kind in kinds)))


def _kinds_of(base: type) -> Iterator[type]:
    kind: type
    for kind in base.__subclasses__():
        yield kind
        yield from _kinds_of(kind)


def _object(wanted: Any, found: Any, depth: int) -> Any:
    values: Dict[str, Any] = _checked(dict, found)
    if values.get(_KIND) != wanted.__name__:
        raise CaptureError("%r is no %s" % (str(values.get(_KIND))[:40], wanted.__name__))
    hints = get_type_hints(wanted)
    names = wanted._fields if hasattr(wanted, "_fields") else [each.name for each in fields(wanted)]
    # A newer one may have more fields, an older one fewer: these have their defaults.
    return wanted(**{name: _made(hints[name], values[name], depth + 1) for name in names if name in values})


def _list(found: Any) -> List[Any]:
    checked: List[Any] = _checked(list, found)
    return checked


def _checked(kind: Any, found: Any) -> Any:
    if not isinstance(found, kind) or (kind is int and (isinstance(found, bool) or abs(found) >= _LARGEST)):
        raise CaptureError("a value is no %s" % kind.__name__)
    return plain(found) if kind is str else found
