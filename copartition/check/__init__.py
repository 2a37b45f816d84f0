"""Tell whether topics can be joined partition by partition, and what must change if they cannot."""
