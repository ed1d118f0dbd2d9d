"""Instructions lifted to operations on registers, flags and memory.

- ``operations.py``: the words of the language; ``evaluate.py`` computes them, ``floats.py`` single precision.
- ``instruction.py``: the front: which lifter takes which encoding.
- ``t16.py``, ``t32.py``, ``t32_memory.py``, ``t32_registers.py``, ``a32.py``, ``a32_media.py``, ``a32_memory.py``: a
  module for each part of the encoding space.
- ``alu.py``, ``media.py``, ``coprocessors.py``, ``float_arithmetic.py``, ``float_registers.py``, ``special.py``,
  ``status.py``: what several parts share; ``builder.py`` puts operations together.
- ``template.py``: a lifted instruction, prepared to be used at every execution of it.

Ref: Armv8-M Architecture Reference Manual (DDI 0553), C2; Arm Architecture Reference Manual for A-profile (DDI 0487),
F3 to F5.  An instruction without a model makes everything unknown that it may write.
"""
