"""Library of board profiles: those of the package, and the user's.

The user's own are used only when they are named.

A profile chooses registers to write, and a working directory may be somebody else's: what lies there decides nothing.
"""

from __future__ import annotations

import os
import re
from typing import Collection, Dict, Iterator, Optional

from gdb_etm.profiles.profile import PartId, Profile, ProfileError, profile_of
from gdb_etm.profiles.tables import read_toml

# What the names of a user's own profiles end with.
SUFFIX = ".etm.toml"
_FOLDER = os.path.dirname(os.path.abspath(__file__))
_OWN = re.compile(r"([A-Za-z0-9_+-][A-Za-z0-9_+.-]{0,63})%s\Z" % re.escape(SUFFIX))
# Own profiles that are looked at.
_MOST_OWN = 16
# Entries of the working directory among which they are looked for.
_MOST_ENTRIES = 10000
# Bytes of a profile: those of the package have less than two thousand.
_LARGEST = 1 << 14


def built_in() -> Dict[str, str]:
    """List the package's profiles: their files by name."""
    return {
        name[: -len(".toml")]: os.path.join(_FOLDER, name)
        for name in sorted(os.listdir(_FOLDER))
        if name.endswith(".toml")
    }


def own() -> Dict[str, str]:
    """List the profiles in the working directory: files by requested name.

    That is the name, or the file where the package has a profile of that name.
    """
    known = built_in()
    found: Dict[str, str] = {}
    for file in sorted(_listed(os.curdir)):
        match = _OWN.match(file)
        if match is not None:
            path = os.path.join(os.curdir, file)
            found[path if match.group(1) in known else match.group(1)] = path
    return found


def profiles() -> Dict[str, str]:
    """List all profiles: their files by what they are asked for by."""
    return {**built_in(), **own()}


def load(name: str) -> Profile:
    """Read a profile.

    :param name: Its name, or a file.
    :raises ProfileError: There is none, or it cannot be read.
    """
    known = profiles()
    if name in known and not name.endswith(".toml"):
        return _read(name, known[name])
    if name.endswith(".toml"):
        base = os.path.basename(name)
        return _read(base[: -len(SUFFIX)] if base.endswith(SUFFIX) else base[: -len(".toml")], name)
    raise ProfileError(
        'no profile "%s"; there are %s, and files NAME%s in the working directory' % (name, ", ".join(known), SUFFIX)
    )


def find(part_id: PartId) -> Optional[Profile]:
    """Find a chip's profile by the ID in its first ROM table.

    Only the package's profiles are searched.

    :returns: None where no profile has it.
    """
    for name, path in built_in().items():
        profile = _read(name, path)
        if profile.part_id == part_id:
            return profile
    return None


def own_lines(part_ids: Collection[PartId]) -> Iterator[str]:
    """Lines about the user's profiles of a chip, and their use.

    None of them is used by itself.

    :param part_ids: The IDs in its first ROM tables.
    """
    found = own()
    for name in list(found)[:_MOST_OWN]:
        try:
            profile = _read(name, found[name])
        except ProfileError as error:
            yield "note: %s; it is passed over" % error
            continue
        if profile.part_id in part_ids:
            yield "note: %s knows this chip, and is used only when it is named: etm connect --profile %s" % (
                found[name],
                name,
            )
    if len(found) > _MOST_OWN:
        yield "note: %d files *%s in the working directory; only %d were looked at" % (len(found), SUFFIX, _MOST_OWN)


def _read(name: str, path: str) -> Profile:
    return profile_of(name, path, read_toml(path, _LARGEST, ProfileError))


def _listed(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            for _, entry in zip(range(_MOST_ENTRIES), entries):
                yield entry.name
    except OSError:
        return
