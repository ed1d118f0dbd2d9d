"""Versions of what reaches the target: Python, pyOCD, the probe's firmware."""

from __future__ import annotations

import platform
from typing import Any, Dict

import pyocd

# Where pyOCD 0.46 has them: CMSIS-DAP and J-Link by the first name, ST-Link by the second.
_FIRMWARE = ("firmware_version", "version_str")
_PROTOCOL = "protocol_version"
_LONGEST = 100


def versions_of(probe: Any) -> Dict[str, str]:
    """List the versions by name.

    :param probe: The open probe.
    """
    found = {"Python beside GDB": platform.python_version(), "pyOCD": str(pyocd.__version__)}
    link = getattr(probe, "_link", None)
    firmware = next(filter(None, (getattr(link, name, None) for name in _FIRMWARE)), None)
    if firmware is not None:
        found["probe firmware"] = str(firmware)[:_LONGEST]
    protocol = getattr(link, _PROTOCOL, None)
    if isinstance(protocol, tuple):
        found["CMSIS-DAP"] = ".".join(map(str, protocol))[:_LONGEST]
    return found
