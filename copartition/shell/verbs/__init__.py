"""Hold the commands that are one call of the library and have no model of their own.

The file named like the command runs it: `assign`, `coordinator`, `examples`, `ledger`, `snapshot`, and
`partition`, which runs `copartition profiles`, too. `other_kinds` assigns groups without consumers.
"""
