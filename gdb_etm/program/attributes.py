"""What an ELF file says of the processors that it was built for.

Ref: Addenda to, and Errata in, the ABI for the Arm Architecture (IHI 0045), 2.3.5.2: Tag_CPU_arch_profile.
"""

from __future__ import annotations

from typing import Any

_PROFILES = {ord("A"): "A", ord("R"): "R", ord("S"): "A", ord("M"): "M"}


def profile_of(path: str) -> str:
    """Tell which architecture profile an ELF file was built for.

    :param path: The ELF file.
    :returns: ``"A"``, ``"R"`` or ``"M"``; ``""`` where it does not say, or cannot be read.
    """
    from elftools.common.exceptions import ELFError
    from elftools.elf.elffile import ELFFile

    try:
        with open(path, "rb") as stream:
            section: Any = ELFFile(stream).get_section_by_name(".ARM.attributes")
            if section is None:
                return ""
            for vendor in section.iter_subsections():
                for part in vendor.iter_subsubsections():
                    for attribute in part.iter_attributes("TAG_CPU_ARCH_PROFILE"):
                        return _PROFILES.get(attribute.value, "")
    except (OSError, ELFError, AttributeError, KeyError, TypeError, ValueError):
        return ""  # malformed: it tells nothing
    return ""
