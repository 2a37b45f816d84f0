"""What is wrong with a group, and what to do."""
