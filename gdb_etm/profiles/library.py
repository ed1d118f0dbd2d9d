"""Finds board profiles: those that come with the package, and the user's own in the working directory."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Any, Dict, List, Optional

from gdb_etm.profiles.profile import PartId, Profile, ProfileError, profile_of

SUFFIX = ".etm.toml"
"""What the names of a user's own profiles end with."""
_FOLDER = os.path.dirname(os.path.abspath(__file__))
_LARGEST = 1 << 20


def profiles() -> Dict[str, str]:
    """List the profiles there are: their files by their names; a user's own hides one of the same name."""
    found = {name[: -len(".toml")]: os.path.join(_FOLDER, name)
             for name in sorted(os.listdir(_FOLDER)) if name.endswith(".toml")}
    found.update({name[: -len(SUFFIX)]: os.path.join(os.curdir, name)
                  for name in sorted(_listed(os.curdir)) if name.endswith(SUFFIX)})
    return found


def load(name: str) -> Profile:
    """Read a profile.

    :param name: Its name, or a file.
    :raises ProfileError: There is none, or it cannot be read.
    """
    known = profiles()
    if name in known:
        return _read(name, known[name])
    if name.endswith(".toml"):
        base = os.path.basename(name)
        return _read(base[: -len(SUFFIX)] if base.endswith(SUFFIX) else base[: -len(".toml")], name)
    raise ProfileError('no profile "%s"; there are %s, and files NAME%s in the working directory'
                       % (name, ", ".join(known), SUFFIX))


def find(part_id: PartId) -> Optional[Profile]:
    """Find the profile of a chip by the ID in its first ROM table; None where no profile has it.

    :raises ProfileError: One of the user's own cannot be read.
    """
    for name, path in profiles().items():
        profile = _read(name, path)
        if profile.part_id == part_id:
            return profile
    return None


def _read(name: str, path: str) -> Profile:
    # The standard library has a reader since Python 3.11; before it is a package of the same contents.
    toml: Any = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        with open(path, "rb") as file:
            text = file.read(_LARGEST).decode("utf-8")
        return profile_of(name, path, toml.loads(text))
    except OSError as error:
        raise ProfileError("cannot read %s: %s" % (path, error.strerror or error))
    except ValueError as error:  # of TOML, or of UTF-8
        raise ProfileError("%s: %s" % (path, error))


def _listed(folder: str) -> List[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
