"""Board profiles: one TOML file a chip, and their readers.

They hold what a chip's maker decided and no identification register shows.
"""
