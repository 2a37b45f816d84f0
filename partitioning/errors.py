"""What can go wrong: one tree for all packages, whose classes are caught by cause.

On the right: which built-in error a class is, too.

CopartitionError                   every error that these packages raise on purpose
 |- InvalidConfigError             a setting that is missing, unknown or meaningless     ValueError
 |- UnknownStrategyError           no partitioner, profile or assignor has this name     LookupError
 |- StrategyConflictError          a name is taken already                               ValueError
 |- BrokenPluginError              a plug-in cannot be loaded, or is none                ImportError
 |- MissingDependencyError         an optional package is not installed                  ImportError
 |- ClusterError                   brokers do not answer, refuse, or changed something
 |   |- BrokerUnreachableError     no broker answers                                     ConnectionError
 |   |- RegistryError              a schema registry does not answer, or refuses us      ConnectionError
 |   |- UnknownTopicError          the cluster has no such topic, or hides it from us    LookupError
 |   |- TopicChangedError          a topic was deleted, made anew, or grew amid the work
 |   |- AccessError                we may not use a group or a transactional id          PermissionError
 |   |   `- TopicAccessError       we may not read, write or describe a topic
 |   |- DeliveryError              records were not acknowledged
 |   |- NotEnoughReplicasError     too few replicas are in sync to accept a record
 |   |- FencedError                another process has our transactional id or place in the group
 |   |- GaveUpError                a batch was aborted too often, or the cluster was silent too long
 |   `- UnsupportedBrokerError     brokers are older than a feature that is needed
 |- PartitioningError              a record cannot be placed
 |   |- InvalidKeyError            a key, or a key column, of the wrong type             TypeError
 |   |- InvalidPartitionCountError a partition count outside 1 .. 2**31 - 1              ValueError
 |   |- InvalidLayoutError         a topic layout that no broker can report              ValueError
 |   |- MisplacedRecordError       a strategy chose a partition that does not exist      ValueError
 |   `- TreeBinError               keys collide so often that Java itself has no one order
 |- AssignmentError                a group cannot be assigned
 |   |- InvalidGroupError          no coordinator can have such a group                  ValueError
 |   |- AssignorError              the strategy cannot answer; names the exception of the JVM
 |   `- ProtocolError              bytes of the consumer protocol cannot be read        ValueError
 |- ToolError                      a tool cannot do what was asked
 |   |- DiffError                  two groups cannot be compared as asked                ValueError
 |   |- ScenarioError              a scenario cannot be simulated                        ValueError
 |   |- MigrationError             no client can be configured with these strategies     ValueError
 |   `- SourceError                a snapshot, capture or live group cannot be read      ValueError
 |       `- GroupNotFoundError     the cluster has no such group
 `- SparkIntegrationError          rows, columns or a ledger do not fit: `spark_integration.errors`
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


class ClusterError(CopartitionError):
    """Brokers do not answer, refuse a request, or changed what the work depends on."""


class BrokerUnreachableError(ClusterError, ConnectionError):
    """No broker answers in time, or every one refuses us."""


class RegistryError(ClusterError, ConnectionError):
    """A schema registry does not answer, or refuses us."""


class UnknownTopicError(ClusterError, LookupError):
    """The cluster has no such topic, or hides it from us."""


class TopicChangedError(ClusterError):
    """A topic was deleted, made anew, or grew while it was read or written."""


class AccessError(ClusterError, PermissionError):
    """We may not use a group, a transactional id or a topic; the message names what to allow."""


class TopicAccessError(AccessError):
    """We may not read, write or describe a topic."""


class DeliveryError(ClusterError):
    """Records were not acknowledged."""


class NotEnoughReplicasError(ClusterError):
    """Too few replicas of a partition are in sync for the brokers to accept a record."""


class FencedError(ClusterError):
    """Another process has our transactional id or our place in the group, or a transaction took too long."""


class GaveUpError(ClusterError):
    """A batch was aborted too often, the cluster was silent for too long, or the consumer went back."""


class UnsupportedBrokerError(ClusterError):
    """Brokers are older than a feature that is needed."""


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
    """Topics or members that no coordinator can hand out."""


class AssignorError(AssignmentError):
    """The strategy cannot answer for this group.

    Attributes:
        jvm_exception: simple name of the Java exception the JVM's assignor throws here; None where it has no
            counterpart.
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
        path: where in the scenario the fault is, `$.events[3].consumer`; None where it is at no one place.
    """

    def __init__(self, message: str, *, path: str | None = None) -> None:
        super().__init__(message)
        self.path = path

    def __str__(self) -> str:
        message = super().__str__()
        return message if self.path is None else f"{message} - at `{self.path}`"


class MigrationError(ToolError, ValueError):
    """Strategies that no client can be configured with."""


class SourceError(ToolError, ValueError):
    """A snapshot, capture or live group that cannot be read."""


class GroupNotFoundError(SourceError):
    """The cluster has no group of that name."""
