"""Tests of the self test: its program, its steps, and defects that it must find."""
