"""Writing each version of a DataFrame to a topic once, in full and in order, whatever dies meanwhile."""
