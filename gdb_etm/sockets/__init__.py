"""Local sockets that accept only this user's processes."""
