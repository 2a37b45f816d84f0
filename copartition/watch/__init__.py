"""A group over time: looks at it, what changed between them, and what is kept of it."""
