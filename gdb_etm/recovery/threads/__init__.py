"""Threads of a kernel, between which handlers switch, or plain functions.

- ``context_switch.py``: what such a handler does: where it saves PSP, and how it finds the next.
- ``control_blocks.py``: in which block each thread is kept; ``scheduler.py``: what is assumed of these blocks.
- ``switching_instructions.py``: which instructions switch, of a handler or of a plain function.
- ``plain_turns.py``: which of those that a plain function left goes on.
- ``residences.py``: each thread from where it goes on to where it is left; ``chains.py``: which residences may be one
  thread's, and ``joined.py``: which are; ``matching.py``: which of those that were left goes on where an exception
  returns.
- ``saved_contexts.py``: registers of waiting threads that are in memory still.
"""
