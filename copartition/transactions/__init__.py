"""Find the open transactions of a cluster, what they hold back from readers, and what ends each."""
