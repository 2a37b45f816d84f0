"""What a test of code that places records needs."""
