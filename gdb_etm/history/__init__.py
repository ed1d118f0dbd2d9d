"""Execution histories: the executed instructions of a core, and cursors in them.

From recordings to a history:

- ``build.py``: framing, the protocol's decoder, the store.
- ``joined.py``: recordings that follow each other, as one; ``untraced.py``: exceptions taken at a halt between them.
- ``store.py``: the executed instructions of one core, numbered from 1; stored as runs, made into objects on demand.
  ``sums.py``: how many there are before each run; ``events.py``: what else is between and within runs;
  ``placed.py``: what is in a run, with its offsets in the buffer.
- ``path.py``: random access by number, by address, forward and back.

What is seen in it:

- ``reader.py``: follows the flow of control, with ``frames.py`` (who called whom), ``exits.py`` (how code is left),
  ``switches.py``, ``identities.py`` and ``alike.py`` (which thread goes on), ``stacks.py`` (a thread's stack, also
  across gaps) and ``halts.py``; ``entries.py``, ``calls.py``, ``threads.py`` and ``activations.py`` are what comes of
  that.
- ``call_index.py``: the same of a long history, whose entries are read when somebody looks.  ``call_steps.py`` keeps
  what runs do, by the reader's state (``reader_states.py``); ``call_patterns.py`` does the same with packets, to read
  all entries of what repeats, and ``call_groups.py`` reads each step's entries once.  ``later_callers.py`` knows the
  callers that only later returns show.
- ``stack.py``: the call stack at a position; ``folding.py``: calls folded around one.
- ``clock.py``: cycles and timestamps; ``budget.py``: what the bytes are spent on.

Moving:

- ``cursor.py``: where the user is; ``steps.py``: positions and moves; ``stepper.py``: stepping by GDB's rules;
  ``lines.py``: what that needs of symbols.

Pure: no files, no clock, no thread.
"""
