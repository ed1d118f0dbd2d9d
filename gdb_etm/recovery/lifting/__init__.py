"""From instructions to operations: one module for each part of the encoding space."""
