"""What a user can type, declared as data and free of GDB: declarations, parsing, and a file a command."""
