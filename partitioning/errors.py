"""What can go wrong when a record is placed.

PartitioningError
 |- InvalidKeyError            a key, or a key column, of the wrong type        (also TypeError)
 |- InvalidPartitionCountError a partition count outside 1 .. 2**31 - 1         (also ValueError)
 |- InvalidLayoutError         a topic layout that no broker can report         (also ValueError)
 |- InvalidConfigError         a setting with a value that has no meaning       (also ValueError)
 |- UnknownStrategyError       no partitioner, profile or assignor of that name (also LookupError)
 |- StrategyConflictError      a name that is taken already                     (also ValueError)
 |- TreeBinError               keys that collide so often that Java itself has no one order
 |- BrokenPluginError          a plug-in that cannot be loaded, or is none      (also ImportError)
 `- MissingDependencyError     an optional package that is not installed        (also ImportError)
"""


class PartitioningError(Exception):
    """Base of every error this package raises on purpose."""


class InvalidKeyError(PartitioningError, TypeError):
    """A key or key column of a type that has no defined bytes."""


class InvalidPartitionCountError(PartitioningError, ValueError):
    """A partition count outside 1 .. 2**31 - 1."""


class InvalidLayoutError(PartitioningError, ValueError):
    """A topic layout that no broker can report."""


class InvalidConfigError(PartitioningError, ValueError):
    """A setting whose value has no meaning."""


class UnknownStrategyError(PartitioningError, LookupError):
    """No strategy or profile has this name."""


class StrategyConflictError(PartitioningError, ValueError):
    """A strategy name is taken already."""


class TreeBinError(PartitioningError):
    """Keys that collide so often that a Java HashMap has another order in every run of the JVM."""


class BrokenPluginError(PartitioningError, ImportError):
    """A plug-in cannot be loaded, fails when it is made, makes no strategy, or gives no answer."""


class MissingDependencyError(PartitioningError, ImportError):
    """An optional package that this call needs is not installed."""
