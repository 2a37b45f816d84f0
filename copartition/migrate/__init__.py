"""Decide which rolling bounces lead a group from one list of strategies to another, or why none does.

`migration` decides the bounces. It looks up in `walks` what became of real groups, and in `clients` which
strategies a client can be configured with. `overview` reports on all groups of a cluster, and `command` on
one.
"""
