"""A session: the connection, the captures, and what is made of them.

Commands and the Python interface are two ways to the same things here; neither is imported.  In reading order:

- ``session.py``: what everything shares; it reacts to halts, resumes and the end of a connection.  ``settings.py``:
  changes of settings.
- ``debugger.py``, ``places.py``: what is needed of a debugger, as protocols; GDB and ELF files fulfil them.
  ``source_files.py``: lines of source; ``source_folders.py``: which may be shown to others.
- ``connecting.py``: from a user's request to a connection; ``opening.py``: by way of pyOCD or of GDB's own connection;
  ``servers.py``: what other GDB servers do in their own way; ``monitor_port.py``: OpenOCD's access ports;
  ``connection.py``: the trace unit and buffer that it reaches; ``disconnecting.py``: how a connection ends;
  ``interpreter.py``: which Python runs pyOCD; ``description.py``: the trace hardware in words.
- ``request.py``, ``filters.py``, ``events.py``, ``event_words.py``, ``trace_settings.py``: what the user wishes to
  trace; ``mtb_buffer.py`` finds the RAM for it, where the program lends that; ``planning.py`` makes the trace unit's
  options of all that, and starts.
- ``captures.py``: captures at hand, decoded when somebody looks (``decoding.py``); ``decoded.py``: a core's history
  with what is derived from it; ``core_history.py`` and ``joined.py``: captures that follow each other, as one history;
  ``summary.py``: one in a line; ``packet_listing.py`` lists packets, ``programs.py`` finds the code.
- ``snapshots.py``: captures saved in folders and loaded from them; ``dumps.py``: trace that a crash left in memory, of
  which ``left_buffers.py`` finds what nobody says; ``saved.py`` reads both without a session; ``anonymised.py``: what
  of a capture may be passed on.
- ``anchor.py``: a core at rest, and reading of its memory; ``halt_states.py``: its states at the halt and before the
  run, from which the past is worked out; ``fault_hint.py``: the line of a halt within a fault's handler.
- ``walk.py``: the cursor in a history; ``reverse.py``: the debugger's own reverse execution, which moves it;
  ``recovered.py``: the recovery of its registers and memory, from what ``recovery_inputs.py`` finds; ``past.py`` makes
  both for a history and keeps them; ``background.py`` works on while the prompt is free.
- ``listing.py``: the rows of instruction and function listings; ``inlined.py``: functions inlined into others;
  ``folding.py``: lines around a place, with calls folded; ``threads.py``: threads by name, for which ``kernels.py``
  reads control blocks.
- ``chip.py``: the chip behind a connection; ``doctor.py``: why there is no trace, and what mends it.
- ``diagnosed.py``: why the program went wrong, of which a history is.
- ``pieces.py``: recordings that are longer than the buffer, by pieces whose length ``pace.py`` finds, or the MTB
  (``watermark.py``), whose buffer may be in RAM that is free (``free_ram.py``); ``older.py``: what stays of those
  beyond the history's limit.
- ``analysed.py``: how often code ran, and what functions cost; ``counted.py``: the same with what came before;
  ``reported.py``: all of it, for a page.
- ``compared.py``: two histories, and where they went another way; ``sides.py``: one of them; ``compared_calls.py``,
  ``compared_values.py``: two builds by their calls, arguments and results.
- ``selftesting.py``: a self test of the connection.
- ``evaluation.py``, ``second_gdb.py``: values at the cursor, printed as GDB prints them.
- ``scenes.py``: what the diagnosis of a history looks at; ``objects.py``: objects in memory, as users name them;
  ``stores.py``: the stores to one, and its loads; ``asked.py``: any value that is asked about, and ``chains.py``: where
  it came from, and what was made of it; ``faults.py``: these, and a
  diagnosis, as tuples for scripts.
- ``messages.py``: captures on their way to the process beside GDB.
- ``numbers.py``, ``ranges.py``, ``progress.py``, ``register_lines.py``, ``register_names.py`` and
  ``disassembler.py``: small things for many.
"""
