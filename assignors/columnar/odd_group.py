"""The way out for groups that the columns do not know."""


class OddGroup(Exception):  # noqa: N818 - not an error: the rule answers instead
    """The group is one that the columns leave to the rule.

    Such groups hold claims of partitions that do not exist, two claims of one partition, a subscription that
    names a topic twice or names none, or no members; or the JVM fails or never ends. Names that crowd in a
    HashMap are told by `CrowdedTablesError`, and go the same way.
    """
