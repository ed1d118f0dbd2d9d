"""Parts that the encoders of all protocols share.

- ``instructions.py``: what an encoder asks of a program's instructions.
- ``cores.py``: what all encoders do alike.
- ``output.py``: the bytes on their way out.
"""
