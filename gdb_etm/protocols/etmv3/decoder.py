"""ETMv3 decoder: trace and program to an execution.

Ref: Arm Embedded Trace Macrocell Architecture Specification ETMv1.0 to ETMv3.5 (IHI 0014Q), chapter 7.

P-headers and branch packets that are nothing but an address are followed by the automaton, some ten bytes a look-up.
All others, and everything that cannot be followed, go through one handler for each kind of packet.  So does every
packet of a unit that traces data, for each load and store is needed by itself.
"""

from __future__ import annotations

from typing import Callable, Final

from gdb_etm.program.blocks import Blocks
from gdb_etm.program.image import Program
from gdb_etm.protocols.armv7.fast_path import FollowedStream, StreamDecoder
from gdb_etm.protocols.armv7.fields import ASYNC
from gdb_etm.protocols.armv7.transition_cache import TransitionCaches
from gdb_etm.protocols.etmv3.automaton import Etmv3Automaton
from gdb_etm.protocols.etmv3.config import Etmv3Config
from gdb_etm.protocols.etmv3.data import DataMatcher
from gdb_etm.protocols.etmv3.execution import Etmv3Execution
from gdb_etm.protocols.etmv3.handlers import Etmv3Handlers
from gdb_etm.protocols.etmv3.headers import build_table
from gdb_etm.protocols.etmv3.packets import Kind
from gdb_etm.protocols.recorder import Recorder
from gdb_etm.protocols.stream import Form

# From an A-sync packet on it is known where each packet begins.
FORM: Final = Form(ASYNC, Kind.ASYNC, Kind.ASYNC, Kind.RESERVED)
# Packets whose effect is decided by state and packet context; time and counts before a gap are not.
REMEMBERED: Final = frozenset(
    (
        Kind.ASYNC,
        Kind.IGNORE,
        Kind.P_HEADER,
        Kind.BRANCH,
        Kind.ISYNC,
        Kind.ISYNC_CYCLES,
        Kind.TRIGGER,
        Kind.CONTEXT_ID,
        Kind.VMID,
        Kind.EXCEPTION_EXIT,
        Kind.EXCEPTION_ENTRY,
    )
)


class Decoder(StreamDecoder):
    """Decodes streams of one ETMv3.

    :param config: The unit's configuration.
    :param program: The program that the core ran.
    """

    def __init__(self, config: Etmv3Config, program: Program) -> None:
        self.config = config
        self.table = build_table(config)
        self.automaton = Etmv3Automaton(Blocks(program), self.table, config)
        self.caches = None if config.data_trace else TransitionCaches()

    def begin(self, offset_of: Callable[[int], int]) -> FollowedStream[Kind]:
        """Begin a stream; see :class:`StreamDecoder`."""
        config, recorder = self.config, Recorder(self.automaton.runs, offset_of)
        data = DataMatcher(config, recorder) if config.data_trace else None
        execution = Etmv3Execution(self.automaton, recorder, config.m_profile, data)
        handlers = Etmv3Handlers(config, execution, data)
        return FollowedStream(FORM, self.table, handlers, self.caches, REMEMBERED, Kind.TIMESTAMP)
