"""CoreSight components: finding them, how they are wired, and drivers for links and sinks."""
