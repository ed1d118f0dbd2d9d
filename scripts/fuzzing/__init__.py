"""What scripts/fuzz checks, one module ``checks_*.py`` for each part of the program, and how it runs them."""
