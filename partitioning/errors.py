"""The errors of all packages form one tree of classes, one class for each cause; docs/errors.md draws it.

Catch `CopartitionError` for all errors, a class directly below it for the errors of one package or of
clusters, or the class of one cause. Most classes derive from a built-in exception, too (`ValueError`,
`LookupError`, `ConnectionError`), so that code that knows nothing of this tree still tells a wrong argument
from a broker that is down.
"""


class CopartitionError(Exception):
    """Base of every error that these packages raise on purpose."""


class InvalidConfigError(CopartitionError, ValueError):
    """A setting or option that is missing, unknown, or has a value without a meaning."""


class UnknownStrategyError(CopartitionError, LookupError):
    """No partitioner, profile or assignor has this name."""


class StrategyConflictError(CopartitionError, ValueError):
    """A strategy name is taken already."""


class BrokenPluginError(CopartitionError, ImportError):
    """A plug-in cannot be loaded, fails when called, returns no strategy, or gives no answer."""


class MissingDependencyError(CopartitionError, ImportError):
    """An optional package that this call needs is not installed."""


class MachineError(CopartitionError, OSError):
    """This machine has no memory or no thread left for a client, or its clock jumps while a client waits."""


# Errors of brokers, for all packages: the arguments are not the cause, and another try may succeed.
class ClusterError(CopartitionError):
    """Brokers do not answer or refuse a request, or the cluster changed during the work."""


class BrokerUnreachableError(ClusterError, ConnectionError):
    """No broker answers in time, or all of them refuse us."""


class RegistryError(ClusterError, ConnectionError):
    """A schema registry does not answer, or refuses us."""


class UnknownTopicError(ClusterError, LookupError):
    """The cluster has no such topic, or hides it from us."""


class TopicChangedError(ClusterError):
    """A topic was deleted, made anew, or grew while it was read or written."""


class AccessError(ClusterError, PermissionError):
    """We may not use a group, a transactional id or a topic; the message names the missing permission."""


class TopicAccessError(AccessError):
    """We may not read, write or describe a topic."""


class DeliveryError(ClusterError):
    """Records were not acknowledged."""


class NotEnoughReplicasError(ClusterError):
    """Too few replicas of a partition are in sync for the brokers to accept a record."""


class FencedError(ClusterError):
    """Another process has our transactional id or our place in the group, or a transaction took too long."""


class GaveUpError(ClusterError):
    """A batch was aborted too often or took too long, brokers were silent, or a consumer's offsets fell."""


class UnsupportedBrokerError(ClusterError):
    """Brokers are too old to have a feature that is needed."""


# From here on the errors are grouped by package: partitioning, assignors, copartition.
class PartitioningError(CopartitionError):
    """A record cannot be placed."""


class InvalidKeyError(PartitioningError, TypeError):
    """A key or key column of a type that has no defined bytes."""


class InvalidPartitionCountError(PartitioningError, ValueError):
    """A partition count outside 1 .. 2**31 - 1."""


class InvalidLayoutError(PartitioningError, ValueError):
    """A topic layout that no broker can report."""


class MisplacedRecordError(PartitioningError, ValueError):
    """A strategy chose a partition that the topic does not have."""


class TreeBinError(PartitioningError):
    """Keys that collide so often that a Java HashMap has another order in every run of the JVM."""


class AssignmentError(CopartitionError):
    """A group cannot be assigned."""


class InvalidGroupError(AssignmentError, ValueError):
    """Topics, members or owned partitions that no group can have."""


class AssignorError(AssignmentError):
    """The strategy cannot answer for this group.

    Attributes:
        jvm_exception: the simple name of the exception that Java's assignor throws for this group; None if
            Java has no such exception.
    """

    def __init__(self, message: str, *, jvm_exception: str | None = None) -> None:
        super().__init__(message)
        self.jvm_exception = jvm_exception


class ProtocolError(AssignmentError, ValueError):
    """Bytes of the consumer protocol that cannot be read or written."""


class ToolError(CopartitionError):
    """A tool of `copartition` cannot do what was asked."""


class DiffError(ToolError, ValueError):
    """Two groups whose members cannot be matched as asked, or a check that cannot be understood."""


class ScenarioError(ToolError, ValueError):
    """A scenario that cannot be simulated.

    Attributes:
        path: the place of the fault in the scenario, such as `$.events[3].consumer`; None if the fault is not
            at a single place.
    """

    def __init__(self, message: str, *, path: str | None = None) -> None:
        super().__init__(message)
        self.path = path

    def __str__(self) -> str:
        message = super().__str__()
        return message if self.path is None else f"{message} - at `{self.path}`"


class MigrationError(ToolError, ValueError):
    """Strategies that no client can be configured with."""


class ReshapeError(ToolError, ValueError):
    """A topic that cannot be reshaped as asked, or records of it that the copy did not write."""


class SourceError(ToolError, ValueError):
    """A snapshot, capture or live group that cannot be read."""


class GroupNotFoundError(SourceError):
    """The cluster has no group of that name."""


class OtherGroupKindError(SourceError):
    """The group is a share group or a Streams group, in which a partition has no owner to ask about.

    Attributes:
        kind: "share" or "streams"; "" if only the message is known.
    """

    def __init__(self, message: str, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind
