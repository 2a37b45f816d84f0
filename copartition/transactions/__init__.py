"""What is open on a cluster, what it holds back from readers, and what ends it."""
