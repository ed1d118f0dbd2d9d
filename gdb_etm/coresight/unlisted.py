"""Components that no ROM table lists, by a chip's profile."""

from __future__ import annotations

from typing import Optional

from gdb_etm.access.port import AccessPort
from gdb_etm.coresight.components import Component, ComponentKind, Identity, read_identity
from gdb_etm.coresight.romtable import Discovery
from gdb_etm.errors import AccessError
from gdb_etm.profiles.profile import Profile


def with_unlisted(discovery: Discovery, port: AccessPort, profile: Optional[Profile]) -> Discovery:
    """Add the MTB that a profile knows of, unless it was found.

    :raises AccessError: The connection is lost.
    """
    address = profile.mtb if profile is not None else None
    if profile is None or address is None or any(one.kind is ComponentKind.MTB for one in discovery.components):
        return discovery
    try:
        identity = read_identity(port, address & ~0xFFF)
    except AccessError as error:
        if error.kind != "fault":
            raise
        note = "0x%08x: %s; the profile %s has the MTB there" % (address, error, profile.name)
        return discovery._replace(notes=(*discovery.notes, note))
    known = identity or Identity(0, 0, 0, 0, 0, 0, 0)
    found = Component(port, address, known, ComponentKind.MTB, "MTB", 0, 0)
    return discovery._replace(components=(*discovery.components, found))
