"""The diagnosis of a fault: back to the first mistake.

A fault has a value with which an instruction could not go on.  What that value was made from is its backward slice
(a dynamic slice: H. Agrawal, J. Horgan, 1990).  The slice is followed in the order of how much a step says of the
value, and each step is shown to patterns of mistakes.  The first that cannot be right is the verdict; where there is
none, the verdict is where the value was first.

In the order in which they are used:

- ``reported.py``: single bits of the fault status registers; ``causes.py``: all of them in plain words.
- ``aborts.py``: an A-profile core's fault status.
- ``status.py``: what those registers tell of the fault that was taken, and what they do not; ``changed.py``: what its
  handler has changed of them.
- ``scene.py``: history, values, calls and names, as all others ask for them; ``index.py``: where instructions and
  accesses are; ``names.py``: memory by its declaration; ``library.py``: functions that others wrote.
- ``site.py``: the instruction that went wrong; ``bad.py``: the values with which it could not go on; ``operands.py``:
  what it would have accessed; ``targets.py``: where it would have branched; ``late.py``: stores that may have failed
  after they ran; ``requests.py``: the SVC that asked for a handler, or could not.
- ``astray.py``: returns to where no call was, which may be what went wrong before the fault.
- ``blocks.py``: blocks that allocators gave.
- ``decisions.py``: the branches on which an instruction depended.
- ``slice.py``: the steps back from there; ``pointers.py``: where the pointer of an access was made.
- ``transfers.py``: what devices were told to write, and by whom.
- ``lost_updates.py``: stores that lose another context's; ``runs.py``: stores side by side, of one copy; ``uses.py``:
  the steps forward from a value.
- ``patterns/``: mistakes, a file each; ``suspicion.py``: what they say.
- ``beginnings.py``: where a value was first, where no step is wrong.
- ``diagnose.py``: all of it.

Values that are exact or assumed count, no others.  Pure: no files, no clock, no thread.
"""
