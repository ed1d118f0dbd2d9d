"""What a user can type, declared as data and free of GDB, and the session that the commands share."""
