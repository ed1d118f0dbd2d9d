"""The opener of ELF files: every error is one line.

pyelftools believes what a file says: of one that is cut, changed or made to do harm it raises errors of any kind.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any, Iterator

from gdb_etm.errors import EtmError, ImageError
from gdb_etm.files import open_regular, size_of

# The largest ELF file, and the largest section, that is read: a kernel with all its debug information is smaller.
MAX_BYTES = 1 << 30

# Sections, or segments: linked programs have some dozens.
_MOST_PARTS = 1 << 14

# Compressed debug information unpacks to less than so many times the file, or to less than :data:`_SPARE` bytes;
# compilers' shrinks to a fifth.
_MOST_UNPACKED = 16
_SPARE = 1 << 22

# The most that zlib can do; the old form of compressed sections is unpacked to its end, whatever size it states.
_ZLIB_RATIO = 1032

# Values of Tag_CPU_arch_profile (ABI for the Arm Architecture, addenda, IHI 0045, 2.3.5.2).
_PROFILES = {ord("A"): "A", ord("R"): "R", ord("S"): "A", ord("M"): "M"}


@contextmanager
def open_elf(path: str, what: str = "is not a readable ELF file") -> Iterator[Any]:
    """Open an ELF file, and close it afterwards.

    :param path: The file.
    :param what: What is said of a file that cannot be read.
    :returns: pyelftools' ``ELFFile``.
    :raises ImageError: At the beginning or in the ``with`` block: something of it cannot be read.
    """
    from elftools.elf.elffile import ELFFile

    with readable(path, what), open_regular(path, MAX_BYTES) as stream:
        elf: Any = ELFFile(stream)
        _check(elf, path, size_of(stream))
        yield elf


def profile_of(path: str) -> str:
    """Find the architecture profile of an ELF file.

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
        pass  # malformed: nothing is known
    return ""


@contextmanager
def readable(path: str, what: str) -> Iterator[None]:
    """Turn errors of pyelftools in the ``with`` block into :class:`ImageError`.

    :param path: The file.
    :param what: What is said of a file that cannot be read.
    """
    try:
        yield
    except EtmError:
        raise
    except OSError as error:
        raise ImageError("cannot read %s: %s" % (path, error.strerror or error)) from error
    except Exception as error:
        raise ImageError("%s %s: %s" % (path, what, reason(error))) from error


def reason(error: Exception) -> str:
    """Describe a library's error in one line."""
    try:
        words = " ".join(str(error).split())
    except ValueError:
        # It holds a number of more digits than Python writes.
        words = ""
    return words if " " in words else "%s %s" % (type(error).__name__, words) if words else type(error).__name__


def _check(elf: Any, path: str, size: int) -> None:
    # What is read later is there, and is no more than a file of this size can hold.
    if max(elf.num_sections(), elf.num_segments()) > _MOST_PARTS:
        raise ImageError("%s says that it has more than %d sections or segments" % (path, _MOST_PARTS))
    unpacked = 0
    for section in elf.iter_sections():
        _check_section(section, path, size)
        if section.name.startswith(".zdebug"):
            unpacked += section["sh_size"] * _ZLIB_RATIO
        elif section.compressed:
            unpacked += section.data_size
    if unpacked > max(size * _MOST_UNPACKED, _SPARE):
        raise ImageError(
            '%s: its debug information may unpack to %d bytes; "objcopy --decompress-debug-sections" '
            "shows its real size" % (path, unpacked)
        )


def _check_section(section: Any, path: str, size: int) -> None:
    length, kind = section["sh_size"], section["sh_type"]
    if length > MAX_BYTES:
        raise ImageError("%s: section %s of %d bytes; at most %d are read" % (path, section.name, length, MAX_BYTES))
    if kind == "SHT_NOBITS" and section.name.startswith((".debug", ".zdebug")):
        raise ImageError("%s: section %s has a size and no content" % (path, section.name))
    end = section["sh_offset"] + length
    if kind not in ("SHT_NOBITS", "SHT_NULL") and end > size:
        words = "%s is cut short: section %s ends at byte %d, the file at %d"
        raise ImageError(words % (path, section.name, end, size))
