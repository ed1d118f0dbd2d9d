"""Tests of the self test: program, steps, planted defects."""
