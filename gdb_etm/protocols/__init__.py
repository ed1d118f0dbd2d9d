"""The trace protocols: from a trace ID's bytes to an execution.

Every protocol has a folder, and the folders have the same files:

- ``PROTOCOL/config.py``: the unit's configuration, from its registers.
- ``PROTOCOL/headers.py``: the header table: for each first byte the packet that it opens.
- ``PROTOCOL/packets.py``: the packets' lengths and fields.
- ``PROTOCOL/listing.py``: packets for a person (``etm packets``).
- ``PROTOCOL/handlers.py``: packets to elements, one handler for each kind.
- ``PROTOCOL/automaton.py``: the program as an automaton, whose steps are computed once and kept.
- ``PROTOCOL/execution.py``: the state of the execution, and what is recorded of it.
- ``PROTOCOL/decoder.py``: the whole way, from bytes to a recording.
- ``PROTOCOL/encode/``: the other direction.  Only the simulated boards use it.

``armv7/`` holds what ETMv3 and PTM share.  ``mtb/`` needs no headers and handlers, as its packets are all alike; it has
``mtb/exceptions.py``, because they do not name exceptions.  In this folder, in the order in which bytes go:

- ``stream.py``: synchronisation, and cutting at packet boundaries.
- ``elements.py``: ranges of instructions and events, in the words of IHI 0064, chapter 5; ``packet.py``: a packet as it
  is listed.
- ``obstacles.py``: reasons why a program cannot be followed.
- ``recorder.py``: the recording, a column of run numbers; ``lazy_run.py``: runs that are worked out when asked for.
- ``profile.py``: what a capture's source says of its registers and its core; ``garbage.py``: Python's memory management
  while decoding.
- ``registry.py``: which decoder fits which source of a capture.

Malformed bytes give a gap with its offset and reason, never an exception; decoding continues at the next
synchronisation.  Nothing here reads files or clocks.
"""
