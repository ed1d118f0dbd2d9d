"""Vendor's register writes that trace needs, from a board profile.

They are checked, remembered, and put back.
"""

from __future__ import annotations

from typing import Dict, List, NamedTuple

from gdb_etm.access.port import AccessPort
from gdb_etm.coresight.borrowed import Restoration
from gdb_etm.errors import AccessError, CaptureError
from gdb_etm.profiles.profile import Enable, Profile

_ANOTHER = "this is no %s: %s; nothing was written: choose another --profile, or none"


class Word(NamedTuple):
    """What one of the words holds."""

    enable: Enable
    found: int

    @property
    def is_right(self) -> bool:
        """Whether it is as the profile wants it."""
        return not (self.found ^ self.enable.value) & self.enable.mask


class Vendor:
    """The vendor's registers of a profile while we use them.

    :param port: The memory space of the processor.
    """

    def __init__(self, port: AccessPort, profile: Profile) -> None:
        self.profile = profile
        self._port = port
        self._found: Dict[Enable, int] = {}

    def check(self) -> None:
        """Read the register that says which chip it is.

        :raises CaptureError: It is another chip, such as one that has nothing at this address.
        :raises AccessError: The target does not answer.
        """
        identity = self.profile.identity
        if identity is None:
            return
        try:
            found = self._port.read32(identity.address)
        except AccessError as error:
            if error.kind != "fault":
                raise
            raise CaptureError(_ANOTHER % (self.profile.name, "%s does not answer" % (identity,))) from error
        if (found ^ identity.value) & identity.mask:
            words = "%s is 0x%08x, and not 0x%08x under the mask 0x%08x"
            raise CaptureError(_ANOTHER % (self.profile.name, words % (identity, found, identity.value, identity.mask)))

    def states(self) -> List[Word]:
        """Read the words; nothing is written."""
        return [Word(each, self._port.read32(each.address)) for each in self.profile.enables]

    def enable(self) -> List[Enable]:
        """Write what is not as the profile wants it.

        :returns: What was written.
        :raises CaptureError: It is another chip; nothing was written.
        :raises AccessError: A word cannot be read or written.
        """
        if not self.profile.enables:
            return []
        self.check()
        written: List[Enable] = []
        for each, found in self.states():
            if (found ^ each.value) & each.mask:
                self._found.setdefault(each, found)
                self._port.write32(each.address, found & ~each.mask | each.value & each.mask)
                written.append(each)
        return written

    def restoration(self) -> List[Restoration]:
        """List the restoring writes, the last written first."""
        return [Restoration(self._port, each.address, found) for each, found in reversed(list(self._found.items()))]

    def release(self) -> None:
        """Restore the written bits; the word's other bits stay."""
        for each, found in reversed(list(self._found.items())):
            now = self._port.read32(each.address)
            self._port.write32(each.address, now & ~each.mask | found & each.mask)
        self._found.clear()


def checked(vendor: Vendor) -> Vendor:
    """Check that the chip is the profile's.

    :returns: What was given.
    :raises CaptureError: It is another chip, whose words mean something else.
    """
    if vendor.profile.enables:
        vendor.check()
    return vendor
