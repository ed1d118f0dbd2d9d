"""Values to lines of text; nothing is printed here."""
