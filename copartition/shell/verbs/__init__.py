"""Hold the commands that are one call of the library and have no model of their own."""
