"""The columns of "sticky" and "cooperative-sticky"."""
