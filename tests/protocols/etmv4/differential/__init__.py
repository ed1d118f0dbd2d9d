"""Random programs, executions and trace units for the differential and robustness tests, and for scripts/fuzz."""
