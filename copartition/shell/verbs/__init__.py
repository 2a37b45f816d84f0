"""Hold the commands that stand for one call of the library and have no model of their own."""
