"""The records themselves: how far behind each partition is, what is read twice and what is lost."""
