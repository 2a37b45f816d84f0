"""A topic as its records show it: who wrote it, and whether it can be joined with others."""
