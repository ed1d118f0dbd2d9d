"""What ETMv3 and PTM share: both trace Armv7 processors, and write addresses, states and times alike."""
