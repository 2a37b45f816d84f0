"""A group over time: looks at it, the changes between them, and the record that is kept."""
