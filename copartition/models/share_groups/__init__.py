"""Model share groups (KIP-932): members that take records of one partition in parallel, each under a lock."""
