"""How each strategy decides, to be fast: whole columns at once, for groups that a coordinator can make.

The twins to be read are in `assignors.rules`; a property test holds both together.
"""
