"""The execution that a trace describes, instruction by instruction."""
