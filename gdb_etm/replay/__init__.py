"""GDB's own reverse execution: its remote protocol, a target that replays a history, a proxy in front of a server."""
