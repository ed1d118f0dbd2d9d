"""Random programs, executions and trace units, also for scripts/fuzz."""
