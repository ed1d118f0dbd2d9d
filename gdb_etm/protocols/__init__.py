"""The trace protocols, and the elements that all of them are decoded to."""
