"""GDB's own reverse execution: a remote target that replays a history.

- ``packets.py``, ``link.py``: the protocol as bytes, and one side of a conversation; neither does I/O.
- ``target.py``: the replay as a target: packets in, replies out; ``console.py``: its texts.
- ``motion.py``: where the replayed core is, and every way that GDB has it move; ``watching.py``: watchpoints.
- ``past.py``: registers and memory in the past, from the recovery; ``reliance.py``: what they may rest on.
- ``threads.py``: the threads that wait at a moment.
- ``flow.py``, ``stack_walk.py``, ``script.py``, ``effects.py``, ``interruptions.py``, ``stacked.py``: the call stack's
  registers from the flow of control alone, so that GDB has frames where nothing else is known.
- ``view.py``: one moment as a trace frame, for values that are available only in part.
- ``layout.py``: registers as GDB numbers them; ``halted.py``: the halted target through its server's packets.
- ``proxy.py``, ``ends.py``, ``between.py``: between GDB and a live server.
- ``wires.py``: sockets and pipes, the one file here that reads and writes.
"""
