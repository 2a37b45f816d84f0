"""Find what is wrong with a consumer group, and say what to do."""
