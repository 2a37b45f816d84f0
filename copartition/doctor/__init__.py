"""What is wrong with a consumer group: an examination, and a table of checks of it."""
