"""Java's HashMap itself, for orders that the arithmetic of `partitioning.java` cannot tell."""
