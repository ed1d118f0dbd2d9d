"""The checks of scripts/fuzz, ``checks_*.py``, and their runner."""
