"""Transactions on a cluster: which are open, what they hold back, and what ends them."""
