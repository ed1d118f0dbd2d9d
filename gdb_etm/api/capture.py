"""A trace buffer's content, for scripts."""

from __future__ import annotations

import os
from typing import ContextManager, Dict, List, Optional, Union

from gdb_etm import capture as waist
from gdb_etm.api.explainer import Explainer
from gdb_etm.api.files import Files, paths
from gdb_etm.api.history import History
from gdb_etm.api.inside import commands_session, is_inside
from gdb_etm.api.measures import Measures
from gdb_etm.api.target import ScriptDebugger
from gdb_etm.history.build import DecoderCache
from gdb_etm.recovery.recovery import Recovery
from gdb_etm.session import dumps, snapshots
from gdb_etm.session.captures import CaptureRecord
from gdb_etm.session.decoded import Decoded
from gdb_etm.session.past import recovered
from gdb_etm.session.session import DebugSession


class Capture:
    """A trace buffer's contents.

    Made by :meth:`Session.capture` and :func:`load`.

    :param session: The session that keeps it.
    :param record: The capture in it.
    """

    def __init__(self, session: DebugSession, record: CaptureRecord) -> None:
        self._session = session
        self._record = record

    def __repr__(self) -> str:
        return "<Capture %d (%s): %d bytes>" % (self.number, self.origin, len(self))

    def __len__(self) -> int:
        return len(self._record.capture.buffer)

    @property
    def number(self) -> int:
        """Its number in the session, from 1, as ``etm captures`` shows it."""
        return self._record.number

    @property
    def origin(self) -> str:
        """Where it was taken, such as ``"halt in main"``."""
        return self._record.origin

    @property
    def content(self) -> waist.RawCapture:
        """Buffer, units' registers and program, as every decoder takes them."""
        return self._record.capture

    def decode(self) -> Dict[int, History]:
        """Decode all of it, unless that was done before.

        :returns: Histories by trace ID (0x01 to 0x6F; CoreSight Architecture v3.0, D4.2).  What cannot be followed is
            a gap in them, never an error.
        :raises CaptureError: There is nothing in it that can be decoded.
        :raises ImageError: The program cannot be read.
        """
        self._session.decode(self._record)
        # It is decoded now, so neither program nor decoders are needed.
        found = self._record.decoded((), DecoderCache(), None)
        return {trace_id: history_of(self._session, decoded) for trace_id, decoded in found.items()}

    def history(self, trace_id: Optional[int] = None) -> History:
        """Decode it and give one core's history.

        :param trace_id: Which, where several cores were traced; None: the first that has instructions.
        :raises CommandError: There is no such trace ID.
        :raises CaptureError: There is nothing in it that can be decoded.
        :raises ImageError: The program cannot be read.
        """
        return history_of(self._session, self._session.decode(self._record, trace_id))

    def save(self, folder: Union[str, "os.PathLike[str]"], replace: bool = False, with_older: bool = False) -> None:
        """Write it, with the program, as a snapshot folder.

        :func:`load`, Arm Development Studio and OpenCSD read such folders.

        :param folder: A new or empty one.
        :param replace: Whether a snapshot that is there gives way, once this one is written.
        :param with_older: Whether the captures of the connection before it go with it, as one history.
        :raises CommandError: The folder holds something else.
        :raises SnapshotError: It cannot be written.
        """
        snapshots.save(self._session, self._record, os.fspath(folder), replace, with_older)


def history_of(session: DebugSession, decoded: Decoded) -> History:
    """Make what was decoded a history for scripts."""

    def recover(number: int) -> ContextManager[Recovery]:
        return recovered(session, decoded).solved(number, session.meter)

    return History(decoded, session.debugger, recover, Explainer(session, decoded), Measures(session, decoded))


def load(snapshot: Union[str, "os.PathLike[str]"], elf: Files = (), buffer: Optional[str] = None) -> List[Capture]:
    """Read a snapshot folder, or a dump with the black box's record.

    :meth:`Capture.save`, ``etm save``, Arm Development Studio and other tools write such folders.

    Inside GDB the captures are added to those of the ``etm`` commands, as ``etm load`` does.

    :param snapshot: The folder, or the dump's file: an ELF core file, Zephyr's, CrashCatcher's.
    :param elf: ELF files with the program.
    :param buffer: The name of the only trace buffer that is wanted.
    :returns: One capture for each trace buffer in it.
    :raises SnapshotError: The folder cannot be read.
    :raises ImageError: An ELF file cannot be read, or is another program than the one whose code the snapshot holds.
    :raises CommandError: An ELF file is not there.
    """
    session = commands_session() if is_inside() else DebugSession(ScriptDebugger())
    path = os.fspath(snapshot)
    if os.path.isfile(path):
        return [Capture(session, dumps.load_dump(session, dumps.DumpRequest(path), paths(elf)).record)]
    loaded = snapshots.load(session, path, paths(elf), buffer)
    return [Capture(session, record) for record in loaded.captures]
