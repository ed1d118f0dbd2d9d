"""Datasheet pages as data: every register as a declaration of its name, offset, access and fields."""
