"""Which rule wrote this topic? Whose hash, over how many partitions, explains where its records are."""
