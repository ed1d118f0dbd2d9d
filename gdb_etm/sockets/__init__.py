"""Sockets of this machine that only the user's own processes come in by."""
