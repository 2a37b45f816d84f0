"""Find who wrote a topic: the client's rule and the partition count that explain where its records are."""
