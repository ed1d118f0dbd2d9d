"""Wrapped trace bytes to one byte stream per trace ID."""
