"""Each strategy decides on whole columns at once, to be fast, for groups that a coordinator can make.

The twins to be read are in `assignors.rules`; a property test holds both together.
"""
