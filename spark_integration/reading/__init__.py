"""Reading a topic into a DataFrame with nothing but pip packages."""
