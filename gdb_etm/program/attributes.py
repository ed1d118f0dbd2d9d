"""What an ELF file says of the processors that it was built for.

Ref: Addenda to, and Errata in, the ABI for the Arm Architecture (IHI 0045), 2.3.5.2: Tag_CPU_arch_profile.
"""

from __future__ import annotations

from gdb_etm.errors import ImageError
from gdb_etm.program.elf import open_elf

_PROFILES = {ord("A"): "A", ord("R"): "R", ord("S"): "A", ord("M"): "M"}


def profile_of(path: str) -> str:
    """Tell which architecture profile an ELF file was built for.

    :param path: The ELF file.
    :returns: ``"A"``, ``"R"`` or ``"M"``; ``""`` where it does not say, or cannot be read.
    """
    try:
        with open_elf(path) as elf:
            section = elf.get_section_by_name(".ARM.attributes")
            for vendor in section.iter_subsections() if section is not None else ():
                for part in vendor.iter_subsubsections():
                    for attribute in part.iter_attributes("TAG_CPU_ARCH_PROFILE"):
                        return _PROFILES.get(attribute.value, "")
    except ImageError:
        pass  # malformed: it tells nothing
    return ""
