"""What was saved, with its program: a snapshot's folder, or a dump."""

from __future__ import annotations

import os
from typing import List, Optional, Sequence

from gdb_etm.capture import RawCapture
from gdb_etm.session.programs import with_programs


def read_captures(path: str, elf: Sequence[str], buffer: Optional[str] = None) -> List[RawCapture]:
    """Read a snapshot's folder, or a dump with a record in it.

    :param elf: ELF files with the program.
    :param buffer: The name of a snapshot's only trace buffer that is wanted.
    :raises SnapshotError: The folder cannot be read.
    :raises ImageError: A file cannot be read, or is another program than the one that ran.
    """
    # What a dump needs takes time to load, and so does a snapshot's reader.
    if os.path.isfile(path):
        from gdb_etm.session.dumps import captures_of

        return with_programs(captures_of(path, elf), elf)
    from gdb_etm.snapshot.reader import read_snapshot

    return with_programs(read_snapshot(path, buffer), elf)
