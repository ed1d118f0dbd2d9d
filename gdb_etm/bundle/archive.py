"""A bundle's file: a zip archive, all of whose sizes are bounded.

It comes from a stranger.  So the directory at the archive's end is looked at before it is parsed, only known names are
read, none of them as a path, and of no file more than it may hold.
"""

from __future__ import annotations

import io
import json
import os
import re
import struct
import zipfile
import zlib
from typing import Any, Dict, List, Mapping, Tuple

from gdb_etm.bundle.contents import FORMAT, Bundle, BundleError, BundleOrigin, KeptCapture, KeptFinding
from gdb_etm.bundle.lines import parse_line, read_record, record_lines
from gdb_etm.bundle.privacy import Scrubber
from gdb_etm.bundle.values import from_json, to_json
from gdb_etm.errors import CaptureError, plain
from gdb_etm.files import read_regular

_ABOUT, _RECORD, _FINDINGS = "bundle.json", "record.jsonl", "findings.jsonl"
_SNAPSHOT = re.compile(r"captures/(\d{1,4})/([a-z0-9_]{1,40}\.(?:ini|bin))\Z")

# Bytes of the archive, of one file in it, and of all: the record of a board with a buffer of a megabyte fits.
_MOST, _MOST_OF_FILE, _MOST_IN_ALL = 1 << 25, 1 << 24, 1 << 26
# What a damaged archive raises; its message may hold a name of any length.
_DAMAGES = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, RuntimeError, ValueError, OSError)
_LONGEST_REASON = 200
_MOST_FILES, _MOST_DIRECTORY = 1 << 12, 1 << 20
# The end of a zip archive without a comment (APPNOTE.TXT, 4.3.16).
_END = struct.Struct("<4s4H2LH")
_END_MARK, _END64_MARK = b"PK\x05\x06", b"PK\x06\x07"
_END64_SIZE = 20
# A fixed time: when a bundle is made is nobody's business, and the same content gives the same file.
_TIME = (1980, 1, 1, 0, 0, 0)


def check_place(path: str, replace: bool) -> None:
    """Check that a bundle may be written to a path.

    :param replace: Whether a file that is there gives way.
    :raises BundleError: It may not.
    """
    if os.path.lexists(path) and not (replace and os.path.isfile(path)):
        raise BundleError("%s: it is there already; only -f replaces a file" % path)


def write_bundle(bundle: Bundle, path: str, scrubber: Scrubber) -> int:
    """Write a bundle, whole or not at all.

    A file that is there gives way.

    :returns: Its size in bytes.
    :raises BundleError: It cannot be written.
    """
    data = packed(bundle, scrubber)
    draft = "%s.new" % path
    try:
        if os.path.lexists(draft):
            os.unlink(draft)  # of a bundle that was cut off; a link of somebody else's is not followed
        with open(draft, "xb") as file:
            file.write(data)
        os.replace(draft, path)
    except OSError as error:
        raise BundleError("%s: %s" % (path, error.strerror or error)) from None
    return len(data)


def packed(bundle: Bundle, scrubber: Scrubber) -> bytes:
    """Pack a bundle as the bytes of its file."""
    about = {
        "origin": to_json(bundle.origin),
        "components": list(bundle.components),
        "captures": to_json(bundle.captures),
        "notes": list(bundle.notes),
    }
    findings = [json.dumps(scrubber.within(to_json(each))) for each in bundle.findings]
    files: Dict[str, bytes] = {_ABOUT: json.dumps(scrubber.within(about), indent=1).encode("ascii")}
    files[_RECORD] = "\n".join(record_lines(bundle.ports, bundle.steps, scrubber.within)).encode("ascii")
    files[_FINDINGS] = "\n".join(findings).encode("ascii")
    for number, snapshot in bundle.snapshots.items():
        files.update(("captures/%d/%s" % (number, name), data) for name, data in snapshot.items())
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, _TIME), data, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def read_bundle(path: str) -> Bundle:
    """Read a bundle.

    :raises BundleError: It is none, or it is larger than one may be; in one line.
    """
    try:
        return _bundle(_files(read_regular(path, _MOST)))
    except OSError as error:
        raise BundleError("%s: %s" % (path, error.strerror or error)) from None
    except (BundleError, CaptureError) as error:
        raise BundleError("%s: %s" % (path, plain(str(error)))) from None


def _files(data: bytes) -> Dict[str, bytes]:
    _check_end(data)
    found: Dict[str, bytes] = {}
    left = _MOST_IN_ALL
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for info in archive.infolist():
                _check_entry(info, found)
                with archive.open(info) as file:
                    content = file.read(min(left, _MOST_OF_FILE) + 1)
                left -= len(content)
                if left < 0 or len(content) > _MOST_OF_FILE:
                    raise BundleError("%s: more than a bundle holds" % plain(info.filename[:80]))
                found[info.filename] = content
    except _DAMAGES as error:
        raise BundleError(
            "the archive is damaged: %s" % (str(error)[:_LONGEST_REASON] or type(error).__name__)
        ) from None
    return found


def _check_end(data: bytes) -> None:
    # A directory of millions of entries would be taken apart before one could count them.
    if not data.startswith(b"PK\x03\x04") or len(data) < _END.size:
        raise BundleError("it is no bundle of gdb_etm")
    mark, disk, first_disk, here, entries, size, offset, comment = _END.unpack(data[-_END.size :])
    before = data[-_END.size - _END64_SIZE : -_END.size]
    if mark != _END_MARK or comment or disk or first_disk or here != entries or before.startswith(_END64_MARK):
        raise BundleError("the archive is cut, or is no bundle of gdb_etm")
    if entries > _MOST_FILES or size > _MOST_DIRECTORY or offset + size > len(data):
        raise BundleError("the archive's directory is larger than a bundle's")


def _check_entry(info: zipfile.ZipInfo, found: Mapping[str, bytes]) -> None:
    name = plain(info.filename[:80])
    if info.filename not in (_ABOUT, _RECORD, _FINDINGS) and _SNAPSHOT.match(info.filename) is None:
        raise BundleError("%s: no bundle has such a file" % name)
    if info.filename in found:
        raise BundleError("%s: it is in there twice" % name)
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or info.flag_bits & 1:
        raise BundleError("%s: packed as no bundle is" % name)
    if info.file_size > _MOST_OF_FILE:
        raise BundleError("%s: %d bytes are more than a bundle holds" % (name, info.file_size))


def _bundle(files: Mapping[str, bytes]) -> Bundle:
    for name in (_ABOUT, _RECORD, _FINDINGS):
        if name not in files:
            raise BundleError("it has no %s" % name)
    about = parse_line(_text(files, _ABOUT))
    origin = about.get("origin")
    version = origin.get("format") if isinstance(origin, dict) else None
    if version != FORMAT:
        raise BundleError("format %s; this gdb_etm reads %d" % (plain(str(version)[:20]), FORMAT))
    record = read_record(_text(files, _RECORD).splitlines())
    snapshots: Dict[int, Dict[str, bytes]] = {}
    for name, data in files.items():
        match = _SNAPSHOT.match(name)
        if match is not None:
            snapshots.setdefault(int(match.group(1)), {})[match.group(2)] = data
    made = from_json(BundleOrigin, origin)
    if len(made.tables) != len(record.ports):
        raise BundleError("%d ROM tables for %d ports" % (len(made.tables), len(record.ports)))
    return Bundle(
        made,
        record.ports,
        record.steps,
        tuple(from_json(KeptCapture, each) for each in _list(about, "captures")),
        tuple(from_json(KeptFinding, parse_line(line)) for line in _text(files, _FINDINGS).splitlines()),
        _texts(about, "components"),
        _texts(about, "notes"),
        snapshots,
    )


def _text(files: Mapping[str, bytes], name: str) -> str:
    try:
        return files[name].decode("ascii")
    except UnicodeDecodeError:
        raise BundleError("%s: not ASCII" % name) from None


def _list(about: Mapping[str, Any], key: str) -> List[Any]:
    found = about.get(key)
    if not isinstance(found, list):
        raise BundleError("%s: %s is no list" % (_ABOUT, key))
    return found


def _texts(about: Mapping[str, Any], key: str) -> Tuple[str, ...]:
    return tuple(plain(from_json(str, each)) for each in _list(about, key))
