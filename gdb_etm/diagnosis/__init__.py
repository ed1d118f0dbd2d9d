"""What went wrong at a fault.

- ``causes.py``: the fault status registers' bits in plain words.
- ``status.py``: what those registers tell of the fault that was taken, and what they do not.

Pure: no files, no clock, no thread.
"""
