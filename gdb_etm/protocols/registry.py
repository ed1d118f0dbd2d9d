"""Registry of protocols, by the name in a capture's source."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, Mapping, NamedTuple, Optional, Protocol, Sequence, Tuple

from gdb_etm.capture import BufferEnd, TraceSource
from gdb_etm.program.blocks import Blocks
from gdb_etm.program.image import Program
from gdb_etm.protocols.packet import Packet
from gdb_etm.protocols.recorder import Recorder


class Config(Protocol):
    """The facts about a unit that decide how bytes are read."""

    @property
    def trace_id(self) -> int:
        """ATB trace ID of the instruction stream."""

    def _replace(self, *, trace_id: int) -> "Config": ...

    def __hash__(self) -> int: ...


class Automaton(Protocol):
    """A decoder's knowledge of the program."""

    @property
    def blocks(self) -> Blocks:
        """The program."""


class Decoder(Protocol):
    """Decodes streams of one trace unit."""

    @property
    def automaton(self) -> Automaton:
        """The knowledge of the program."""

    def decode(self, *arguments: Any, **named: Any) -> Recorder:
        """Decode a whole stream.

        Its arguments are bytes, offsets, a progress callback, gaps before it, and its data elements.
        """


class DataStream(NamedTuple):
    """Access to the data stream beside a protocol's instruction stream."""

    # Its trace ID by the configuration; None when the unit traces no data.
    trace_id: Callable[[Any], Optional[int]]
    # Lists its packets.
    packets: Callable[[Any, bytes, Callable[[int], int]], Iterator[Packet]]
    # Decodes it: the configuration, its bytes, their offsets, a progress callback.
    elements: Callable[..., Sequence[Any]]


class ProtocolReader(NamedTuple):
    """How a protocol's streams are read."""

    # Reads a source's configuration; raises CaptureError when a register is missing.
    config: Callable[[TraceSource], Config]
    # Makes the decoder for a configuration and a program.
    decoder: Callable[[Any, Program], Decoder]
    # Lists the packets of a stream: the configuration, its bytes, their offsets.
    packets: Callable[[Any, bytes, Callable[[int], int]], Iterator[Packet]]
    # None where loads and stores are in the same stream, or are not traced at all.
    data: Optional[DataStream] = None
    # Whether a range ends at every instruction whose condition failed, and not only at branches.
    failures_end_ranges: bool = False
    # Whether addresses, and whether values of loads and stores are traced, by the configuration.
    transfers: Callable[[Any], Tuple[bool, bool]] = lambda config: (False, False)
    # What a source says of the ends of its trace, as the decoder takes it by the name ``ends``; None: it takes nothing.
    ends: Optional[Callable[[TraceSource, BufferEnd], Any]] = None


def _transfers(config: Any) -> Tuple[bool, bool]:
    return config.data_addresses, config.data_values


def _etmv3() -> ProtocolReader:
    from gdb_etm.protocols.etmv3.config import Etmv3Config
    from gdb_etm.protocols.etmv3.decoder import Decoder
    from gdb_etm.protocols.etmv3.listing import list_packets

    return ProtocolReader(
        Etmv3Config.from_source, Decoder, list_packets, failures_end_ranges=True, transfers=_transfers
    )


def _etmv4() -> ProtocolReader:
    from gdb_etm.protocols.etmv4.config import Etmv4Config
    from gdb_etm.protocols.etmv4.decoder import Decoder

    def packets(config: Etmv4Config, data: bytes, offset_of: Callable[[int], int]) -> Iterator[Packet]:
        from gdb_etm.protocols.etmv4.listing import list_packets

        return list_packets(config, data, offset_of)

    def data_packets(config: Etmv4Config, data: bytes, offset_of: Callable[[int], int]) -> Iterator[Packet]:
        from gdb_etm.protocols.etmv4.data.listing import list_data_packets

        return list_data_packets(config, data, offset_of)

    def data_elements(*arguments: Any, **named: Any) -> Sequence[Any]:
        from gdb_etm.protocols.etmv4.data.decoder import decode_data

        return decode_data(*arguments, **named)

    def data_id(config: Etmv4Config) -> Optional[int]:
        return config.data_trace_id if config.data_trace and config.data_trace_id != config.trace_id else None

    data = DataStream(data_id, data_packets, data_elements)
    return ProtocolReader(Etmv4Config.from_source, Decoder, packets, data, transfers=_transfers)


def _mtb() -> ProtocolReader:
    from gdb_etm.protocols.mtb.config import BufferEnds, MtbConfig
    from gdb_etm.protocols.mtb.decoder import Decoder
    from gdb_etm.protocols.mtb.listing import list_packets

    return ProtocolReader(MtbConfig.from_source, Decoder, list_packets, ends=BufferEnds.from_source)


def _ptm() -> ProtocolReader:
    from gdb_etm.protocols.ptm.config import PtmConfig
    from gdb_etm.protocols.ptm.decoder import Decoder
    from gdb_etm.protocols.ptm.listing import list_packets

    return ProtocolReader(PtmConfig.from_source, Decoder, list_packets)


class _Protocols(Mapping[str, ProtocolReader]):
    # Imports a protocol when it is asked for: decoding a small capture takes less time than importing all of them.

    def __init__(self, makers: Dict[str, Callable[[], ProtocolReader]]) -> None:
        self.__makers = makers
        self.__made: Dict[str, ProtocolReader] = {}

    def __getitem__(self, protocol: str) -> ProtocolReader:
        if protocol not in self.__made:
            self.__made[protocol] = self.__makers[protocol]()
        return self.__made[protocol]

    def __contains__(self, protocol: object) -> bool:
        return protocol in self.__makers

    def __iter__(self) -> Iterator[str]:
        return iter(self.__makers)

    def __len__(self) -> int:
        return len(self.__makers)


# By :attr:`gdb_etm.capture.TraceSource.protocol`.
PROTOCOLS: Mapping[str, ProtocolReader] = _Protocols({"etmv3": _etmv3, "etmv4": _etmv4, "mtb": _mtb, "ptm": _ptm})
